import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

import rankinite as rk
from rankinite.errors import DataError, RankiniteWarning
from rankinite.formats.svmlight import parse_svmlight
from tests.naive import svmlight as naive

SMALLEST_NORMAL = np.finfo(np.float64).tiny


def parse(text, **options):
    raw = text.encode() if isinstance(text, str) else text
    return parse_svmlight(np.frombuffer(raw, dtype=np.uint8), "data.txt", **options)


def numbers(texts):
    lines = "".join(f"0 qid:1 1:{text}\n" for text in texts)
    return parse(lines, dtype=np.float64)[0][:, 0]


def test_a_line_has_label_query_features_and_comment():
    X, y, qid = parse("2 qid:10 1:0.5 3:-1e-3 # doc 7\n+1 qid:10 2:4\n-3.5e-7 qid:-9\n")
    assert X.dtype == np.float64
    np.testing.assert_array_equal(X, [[0.5, 0, -1e-3], [0, 4, 0], [0, 0, 0]])
    assert y.tolist() == [2, 1, -3.5e-7]
    assert qid.dtype == np.int64
    assert qid.tolist() == [10, 10, -9]


@pytest.mark.parametrize(
    "text",
    [
        "1 qid:1 1:2 2:3\n0 qid:2 2:5\n",
        "1 qid:1 1:2 2:3\n0 qid:2 2:5",
        "1 qid:1 1:2 2:3\r\n0 qid:2 2:5\r\n",
        "\ufeff1 qid:1 1:2 2:3\n0 qid:2 2:5\n",
        "# head\n\n \t\n  1\tqid:1  2:3\t1:2 \n#x\n0 qid:2 2:5#1:9\n\n# end 3:1",
    ],
)
def test_blanks_comments_and_line_ends(text):
    X, y, qid = parse(text)
    assert X.tolist() == [[2, 3], [0, 5]]
    assert y.tolist() == [1, 0]
    assert qid.tolist() == [1, 2]


def test_special_values():
    values = numbers(["nan", "NaN", "-nan", "inf", "-inf", "+Infinity", "1e400", "-1e-400", "-0"])
    expected = [np.nan, np.nan, np.nan, np.inf, -np.inf, np.inf, np.inf, -0.0, -0.0]
    np.testing.assert_array_equal(values, expected)
    assert np.signbit(values[-2:]).all()


@pytest.mark.parametrize("style", [repr, "%.17g".__mod__, "%.3e".__mod__, "%.25g".__mod__])
def test_floats_are_rounded_as_python_does(style):
    rng = np.random.default_rng(0)
    anywhere = rng.integers(0, 2**64, 4000, dtype=np.uint64).view(np.float64)
    values = np.concatenate(
        [
            anywhere[np.isfinite(anywhere)],
            rng.normal(size=2000),
            rng.integers(0, 2**63, 500).astype(np.float64),
            np.arange(500) / 100,
            [5e-324, SMALLEST_NORMAL, np.finfo(np.float64).max, 2.0**53 + 2, 1e22, 1e23],
        ]
    )
    texts = [style(value) for value in values.tolist()]
    expected = np.array([float(text) for text in texts])
    found = numbers(texts)
    normal = np.abs(expected) >= SMALLEST_NORMAL
    assert np.array_equal(found[normal], expected[normal])
    # A subnormal number is rounded twice: it may miss by one unit in its last place.
    assert (np.abs(found[~normal] - expected[~normal]) <= 5e-324).all()


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.from_regex(
        r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,4})?", fullmatch=True
    )
)
def test_any_way_to_write_a_number(text):
    # Digits after the 19th are cut off, so a value may miss by one unit in its last place.
    expected = float(text)
    found = numbers([text])[0]
    assert found in (expected, np.nextafter(expected, np.inf), np.nextafter(expected, -np.inf))


token = st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,4})?(e-?[0-9])?", fullmatch=True)
blank = st.sampled_from([" ", "  ", "\t", " \t "])


@st.composite
def lines(draw):
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(["", "  ", "# 1 qid:1 9:9", "\t#"]))
    indices = draw(st.lists(st.integers(1, 12), unique=True, max_size=6))
    parts = [draw(token), f"qid:{draw(st.integers(0, 3))}"]
    parts += [f"{index}:{draw(token)}" for index in indices]
    line = parts[0] + "".join(draw(blank) + part for part in parts[1:])
    return line + draw(st.sampled_from(["", " ", " # note: 3:4", "#x", "\r"]))


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(lines(), max_size=12), st.sampled_from(["", "\n"]), st.integers(1, 60))
def test_against_the_naive_twin_in_pieces_of_any_size(body, end, piece_bytes):
    text = "\n".join(["1 qid:1 1:1", *body]) + end
    X, y, qid = parse(text, dtype=np.float64, piece_bytes=piece_bytes)
    naive_X, naive_y, naive_qid = naive.parse(text)
    assert np.array_equal(X, naive_X)
    assert np.array_equal(y, naive_y)
    assert qid.tolist() == [int(q) for q in naive_qid]


def test_against_scikit_learn(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.5)
    path = tmp_path / "random.txt"
    with path.open("w") as file:
        for i, row in enumerate(X):
            pairs = " ".join(f"{j + 1}:{row[j]!r}" for j in np.flatnonzero(row))
            file.write(
                f"{i % 5} qid:{i // 10} {pairs}\n".replace("np.float64(", "").replace(")", "")
            )
    theirs = load_svmlight_file(str(path), query_id=True, n_features=20)
    ours = rk.read(path, dtype="float64", n_features=20)
    assert np.array_equal(ours.X, theirs[0].toarray())
    assert np.array_equal(ours.y, theirs[1])
    assert np.array_equal(np.repeat(ours.qids, ours.query_sizes), theirs[2])


def test_ids_that_are_not_all_integers_are_strings():
    _, _, qid = parse("1 qid:7 1:1\n1 qid:wörld 1:1\n1 qid:+7 1:1\n")
    assert qid.tolist() == ["7", "wörld", "+7"]
    limits = ["9223372036854775807", "-9223372036854775808", "0007"]
    _, _, qid = parse("".join(f"1 qid:{q} 1:1\n" for q in limits))
    assert qid.tolist() == [2**63 - 1, -(2**63), 7]
    for beyond in ("9223372036854775808", "-9223372036854775809", "1" * 30, "1.5", "-"):
        _, _, qid = parse(f"1 qid:7 1:1\n1 qid:{beyond} 1:1\n")
        assert qid.tolist() == ["7", beyond]
    _, _, qid = parse(b"1 qid:\xff 1:1\n1 qid:\xfe 1:1\n")
    assert qid.tolist() == ["\\xff", "\\xfe"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:1", "the label 'x' is not a number"),
        ("1,0 qid:1 1:1", "the label '1,0' is not a number"),
        ("qid:1 1:1", "the label 'qid:1' is not a number"),
        ("nan qid:1 1:1", "the label 'nan' is not finite (query 1)"),
        ("-inf qid:1 1:1", "the label '-inf' is not finite"),
        ("1 1:1", "expected qid:ID after the label, found '1:1'"),
        ("1 1:1 qid:1", "expected qid:ID after the label, found '1:1'"),
        ("1 # qid:1", "there is no qid:ID after the label"),
        ("1", "there is no qid:ID after the label"),
        ("1 qid: 1:1", "the query id after 'qid:' is empty"),
        ("1 qid:1 1", "'1' is not a feature of the form index:value"),
        ("1 qid:1 a:1", "'a:1' is not a feature"),
        ("1 qid:1 -1:1", "'-1:1' is not a feature"),
        ("1 qid:1 1 :1", "'1' is not a feature"),
        ("1 qid:1 0:1", "'0:1' has the feature index 0, but features are numbered from 1"),
        ("1 qid:1 1:1 2:1 1:0", "'1:0' gives a feature a second value"),
        ("1 qid:1 1:", "the value of '1:' is not a number"),
        ("1 qid:1 1:2:3", "the value of '1:2:3' is not a number"),
        ("1 qid:1 1:.", "the value of '1:.' is not a number"),
        ("1 qid:1 1:1e", "the value of '1:1e' is not a number"),
        ("1 qid:1 1:1e+", "the value of '1:1e+' is not a number"),
        ("1 qid:1 1:1.2.3", "the value of '1:1.2.3' is not a number"),
        ("1 qid:1 1:.nan", "the value of '1:.nan' is not a number"),
        ("1 qid:1 1:nano", "the value of '1:nano' is not a number"),
        ("1 qid:1 1:0x10", "the value of '1:0x10' is not a number"),
        ("1 qid:1 1:1_0", "the value of '1:1_0' is not a number"),
        ("1 qid:1 1:" + "z" * 60, "the value of '1:" + "z" * 38 + "...' is not a number"),
        ("1 qid:1 99999999999:1", "the feature index of '99999999999:1' is above 2147483647"),
    ],
)
@pytest.mark.parametrize("piece_bytes", [1, 1 << 20])
def test_malformed_lines_are_named(line, message, piece_bytes):
    text = f"# comment\n\n1 qid:1 1:1 2:2\n{line}\n1 qid:1 1:1\nbad line\n"
    with pytest.raises(DataError) as caught:
        parse(text, piece_bytes=piece_bytes)
    assert str(caught.value).startswith(f"data.txt, line 4: {message}")


def test_the_width_can_be_fixed():
    assert parse("1 qid:1 2:1\n", n_features=5)[0].tolist() == [[0, 1, 0, 0, 0]]
    with pytest.raises(DataError, match="line 2: the feature index of '3:1' is above n_features=2"):
        parse("1 qid:1 2:1\n1 qid:1 3:1\n", n_features=2)


def test_text_without_rows_or_features():
    for text in ("", "\n\n", "# only\n# comments"):
        with pytest.raises(DataError, match=r"data.txt has no data rows"):
            parse(text)
    with pytest.raises(DataError, match=r"data.txt has no features"):
        parse("1 qid:1\n")


def test_a_wrong_index_is_refused_with_its_line():
    rows = [f"1 qid:1 {' '.join(f'{j}:{j}' for j in range(1, 12))}" for _ in range(48)]
    rows[20] += " 5000000:0.5"
    text = "# 48 rows\n" + "\n".join(rows)
    with pytest.raises(DataError) as caught:
        parse(text)
    assert str(caught.value) == (
        "data.txt, line 22: the feature index 5000000 is far above the others (of 12 features nine "
        "tenths are numbered up to 10), and 48 rows so wide would take 1.9 GB: mend the line, or "
        "pass n_features=5000000 if it is right"
    )
    # A fault before it is told first.
    with pytest.raises(DataError, match="line 2: 'x' is not a feature"):
        parse(text.replace("11:11", "x", 1))
    # Among many rows, most of which are not looked at for the likely width.
    many = [f"1 qid:1 {' '.join(f'{j}:{j}' for j in range(1, 12))}"] * 20_001
    many[777] += " 11000:0.5"
    with pytest.raises(DataError, match="line 778: the feature index 11000 is far above the"):
        parse("\n".join(many))
    assert parse("\n".join(many[:3] + many[777:778]))[0].shape == (4, 11_000)


def test_sparse_text_is_no_mistake():
    """Few of the values of a row, or few of the columns, are there; yet all over the width."""
    rng = np.random.default_rng(0)
    for n_rows, width, n_filled in ((5000, 5000, 5), (300, 70_000, 3)):
        columns = np.sort(rng.integers(1, width + 1, (n_rows, n_filled)))
        lines = (" ".join(f"{j}:1" for j in sorted(set(own.tolist()))) for own in columns)
        X, _, _ = parse("".join(f"1 qid:1 {line}\n" for line in lines))
        assert X.shape == (n_rows, columns.max()) and n_rows * columns.max() > 1 << 24


def test_a_width_beyond_memory():
    text = "1 qid:1 1:1\n" * 10_000 + "1 qid:1 2000000000:1\n"
    with pytest.raises(DataError, match="10001 rows with feature indices up to 2000000000 do not"):
        parse(text, n_features=2_000_000_000)
    with pytest.raises(DataError, match="line 10001: the feature index of '2000000000:1'"):
        parse(text, n_features=1)


def test_compressed_files(tmp_path):
    text = b"1 qid:2 1:1\n0 qid:1 2:1.5\n0 qid:2 1:3\n"
    plain = tmp_path / "a.txt"
    plain.write_bytes(text)
    zipped = tmp_path / "a.txt.gz"
    # Two members, as from `cat a.gz b.gz`.
    zipped.write_bytes(gzip.compress(text[:12]) + gzip.compress(text[12:]))
    for path in (plain, zipped):
        with pytest.warns(RankiniteWarning, match="1 of 2 queries"):
            data = rk.read(path)
        assert data.X.tolist() == [[1, 0], [3, 0], [0, 1.5]]
        assert data.qids.tolist() == [2, 1]
        assert data.in_caller_order(data.y).tolist() == [1, 0, 0]
    zipped.write_bytes(gzip.compress(text)[:-12])
    with pytest.raises(DataError, match=r"a.txt.gz cannot be decompressed"):
        rk.read(zipped)
