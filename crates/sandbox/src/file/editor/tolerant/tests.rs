use super::*;

fn edited(text: &str, old: &str, new: &str) -> (EditMatch, String) {
    let replaced = replace(text, old, new, false).unwrap_or_else(|why| panic!("{old:?}: {why:?}"));
    assert_eq!(replaced.count, 1);
    (replaced.matched, replaced.text)
}

fn refused(text: &str, old: &str) -> Unclear {
    replace(text, old, "new", false).expect_err(old)
}

const PYTHON: &str = "class A:\n    def one(self):\n        x = 1\n        return x\n\n    def two(self):\n        x = 2\n        return x\n";

#[test]
fn an_exact_text_is_replaced_exactly() {
    assert_eq!(edited("a b c", "b", "x"), (EditMatch::Exact, "a x c".to_owned()));
    assert_eq!(edited("a\n  b\n", "  b", "b"), (EditMatch::Exact, "a\nb\n".to_owned()));
}

#[test]
fn lines_with_other_space_round_them_are_found_and_new_ones_indented_alike() {
    let (matched, text) = edited(
        PYTHON,
        "def two(self):\n    x = 2\n    return x\n",
        "def two(self):\n    y = 3\n\n    return y\n",
    );
    assert_eq!(matched, EditMatch::LineTrimmed);
    assert!(text.ends_with("    def two(self):\n        y = 3\n\n        return y\n"), "{text}");
    assert!(text.contains("def one(self):\n        x = 1\n"));
    let (matched, text) = edited("a  \nb\t\nc\n", "a\nb", "x\ny");
    assert_eq!((matched, text.as_str()), (EditMatch::LineTrimmed, "x\ny\nc\n"));
}

#[test]
fn a_block_is_found_by_its_first_and_last_lines_if_the_rest_is_much_alike() {
    let text = "fn main() {\n    let count = read_all_values();\n    println!(\"{count}\");\n}\nfn other() {\n    nothing();\n}\n";
    let old = "fn main() {\n    let count = read_all_value();\n    println!(\"{count}\")\n}\n";
    let (matched, text) = edited(text, old, "fn main() {}\n");
    assert_eq!(matched, EditMatch::BlockAnchor);
    assert_eq!(text, "fn main() {}\nfn other() {\n    nothing();\n}\n");
    let unlike = "fn main() {\n    something_else_entirely(1, 2, 3);\n    and_more();\n}\n";
    assert_eq!(refused("fn main() {\n    a();\n    b();\n}\n", unlike), Unclear::Missing);
}

#[test]
fn white_space_may_be_of_another_amount_even_across_lines() {
    let (matched, text) = edited("f( a,\n    b )\n", "f( a, b )", "g(a, b)");
    assert_eq!((matched, text.as_str()), (EditMatch::WhitespaceNormalized, "g(a, b)\n"));
    let (matched, text) = edited("let  x\t=  1; // é\n", "let x = 1; // é", "let y = 1;");
    assert_eq!((matched, text.as_str()), (EditMatch::WhitespaceNormalized, "let y = 1;\n"));
}

#[test]
fn the_shape_of_an_indentation_tells_two_blocks_apart() {
    let text = "  if a:\n      b\n  if a:\n    b\n";
    let (matched, text) = edited(text, "if a:\n  b\n", "if c:\n  d\n");
    assert_eq!(matched, EditMatch::IndentationFlexible);
    assert_eq!(text, "  if a:\n      b\n  if c:\n    d\n");
}

#[test]
fn escapes_are_taken_for_what_they_stand_for() {
    let (matched, text) = edited("say(\"hi\")\n", "say(\\\"hi\\\")", "say(\\\"ho\\\")");
    assert_eq!((matched, text.as_str()), (EditMatch::EscapeNormalized, "say(\"ho\")\n"));
    let (matched, text) = edited("one\ntwo\n", "one\\ntwo", "1\\n2");
    assert_eq!((matched, text.as_str()), (EditMatch::EscapeNormalized, "1\n2\n"));
}

#[test]
fn space_at_the_boundary_is_not_insisted_on() {
    let (matched, text) = edited("x = call(y) + 1\n", "\n  call(y)\n", "\n  call(z)\n");
    // Two ways agree on it; the one that is tried first counts.
    assert!(matches!(matched, EditMatch::WhitespaceNormalized | EditMatch::TrimmedBoundary));
    assert_eq!(text, "x = call(z) + 1\n");
}

#[test]
fn half_of_the_lines_between_two_equal_ones_suffice() {
    let text = "begin\nkept one\nchanged completely here\nend\n";
    let (matched, text) = edited(text, "begin\nkept one\nqqq\nend", "gone");
    assert_eq!((matched, text.as_str()), (EditMatch::ContextAware, "gone\n"));
}

#[test]
fn several_exact_occurrences_need_leave_and_are_named_without_it() {
    let text = "a\nb a\nc\n";
    assert_eq!(
        refused(text, "a"),
        Unclear::Several { matched: EditMatch::Exact, count: 2, lines: vec![(1, 1), (2, 2)] }
    );
    let replaced = replace(text, "a", "x", true).unwrap();
    assert_eq!(replaced.text, "x\nb x\nc\n");
    assert_eq!((replaced.count, replaced.matched), (2, EditMatch::MultiOccurrence));
}

#[test]
fn several_likely_places_are_refused_with_their_lines() {
    let text = "if x:\n    go()\nelse:\n    go()\n";
    let unclear = refused(text, "\tgo()");
    let lines = vec![(2, 2), (4, 4)];
    assert_eq!(unclear, Unclear::Several { matched: EditMatch::LineTrimmed, count: 2, lines });
    let all = replace(text, "\tgo()", "\tstop()", true).unwrap();
    assert_eq!(all.text, "if x:\n    stop()\nelse:\n    stop()\n");
    let twice = "a {\n  one();\n}\na {\n  one();\n}\n";
    let old = "a {\n  onee();\n}\n";
    assert!(matches!(refused(twice, old), Unclear::Several { count: 2, .. }));
    assert!(replace(twice, old, "", true).is_err(), "a guess is never repeated");
}

#[test]
fn what_is_not_there_changes_nothing() {
    for old in ["nothing like it", "\n\n\n", "   ", "def three(self):\n    pass\n"] {
        assert!(replace(PYTHON, old, "x", false).is_err(), "{old:?}");
    }
    assert_eq!(replace("", "a", "b", true), Err(Unclear::Missing));
}
