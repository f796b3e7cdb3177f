"""What a ranker made of trees, or a linear one, adds up for a document, and on which ways.

`contributions` shares a score out to the features, `leaves` says where documents end in the trees,
and `node_frame` puts the nodes of all trees into a table.
"""

from rankinite.attribution.contributions import check_attributable, contributions
from rankinite.attribution.frame import node_frame
from rankinite.attribution.leaves import leaves

__all__ = ["check_attributable", "contributions", "leaves", "node_frame"]
