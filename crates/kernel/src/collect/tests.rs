//! The collector against what a kernel may send.

use serde_json::{Map, json};

use super::*;

const LIMITS: OutputLimits = OutputLimits { text_bytes: 10_000, rich_bytes: 5_000 };

fn print(name: &str, text: &str) -> Event {
    Event::Output(stream(name, text))
}

fn stream(name: &str, text: &str) -> Output {
    Output::Stream { name: name.to_owned(), text: text.to_owned() }
}

fn rich(media: &str, value: &str, display_id: Option<&str>) -> Rich {
    let data = Map::from_iter([(media.to_owned(), json!(value))]);
    Rich { data, display_id: display_id.map(str::to_owned), ..Rich::default() }
}

fn collect(events: impl IntoIterator<Item = Event>) -> (Vec<Output>, u64) {
    let mut outputs = Outputs::new(LIMITS);
    events.into_iter().for_each(|event| outputs.apply(event));
    outputs.finish()
}

/// All text printed to one stream.
fn text_of(outputs: &[Output], stream: &str) -> String {
    let text = |output: &Output| match output {
        Output::Stream { name, text } if name == stream => Some(text.clone()),
        _ => None,
    };
    outputs.iter().filter_map(text).collect()
}

#[test]
fn chunks_of_one_stream_are_one_output_and_order_is_kept() {
    let plot = rich("image/png", "AAAA", None);
    let (outputs, left_out) = collect([
        print("stdout", "a"),
        print("stdout", "b"),
        print("stderr", "c"),
        Event::Output(Output::Display(plot.clone())),
        print("stderr", "d"),
        print("stderr", "e"),
    ]);
    let expected = [
        stream("stdout", "ab"),
        stream("stderr", "c"),
        Output::Display(plot),
        stream("stderr", "de"),
    ];
    assert_eq!((outputs.as_slice(), left_out), (expected.as_slice(), 0));
}

#[test]
fn long_text_keeps_both_ends_and_counts_what_is_missing() {
    for chunk in [1, 7, 999, 1_000_000] {
        let text: String = (0..100_000).map(|number| format!("é{number}\n")).collect();
        let mut rest = text.as_str();
        let mut events = Vec::new();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.ceil_char_boundary(chunk.min(rest.len())));
            events.push(print("stdout", now));
            rest = later;
        }
        let (outputs, left_out) = collect(events);
        assert_eq!(outputs.len(), 1, "chunks of {chunk}");
        let kept = text_of(&outputs, "stdout");
        assert!(kept.len() <= LIMITS.text_bytes + 100, "{} for chunks of {chunk}", kept.len());
        assert!(kept.starts_with("é0\né1\n") && kept.ends_with("é99998\né99999\n"));
        let mark = format!("\n\n... [{left_out} bytes of output left out] ...\n\n");
        let (head, tail) = kept.split_once(&mark).unwrap();
        assert!(text.starts_with(head) && text.ends_with(tail));
        assert_eq!(head.len() + tail.len() + usize::try_from(left_out).unwrap(), text.len());
    }
}

#[test]
fn many_tiny_outputs_are_bounded_too() {
    let alternating = (0..100_000).map(|turn| print(["stdout", "stderr"][turn % 2], "x"));
    let (outputs, left_out) = collect(alternating);
    assert!(outputs.len() <= LIMITS.text_bytes / OUTPUT_COST + 2, "{}", outputs.len());
    assert!(left_out > 99_000);
}

#[test]
fn text_before_and_after_a_picture_is_cut_without_moving_it() {
    let plot = Output::Display(rich("image/png", "AAAA", None));
    let (outputs, _) = collect([
        print("stdout", &"a".repeat(6_000)),
        Event::Output(plot.clone()),
        print("stdout", &"z".repeat(20_000)),
    ]);
    let position = outputs.iter().position(|output| *output == plot).unwrap();
    assert!(!text_of(&outputs[..position], "stdout").contains('z'));
    assert!(text_of(&outputs[position..], "stdout").ends_with('z'));
}

#[test]
fn an_updated_display_is_replaced_where_it_stands() {
    let (outputs, _) = collect([
        Event::Output(Output::Display(rich("text/plain", "0 %", Some("bar")))),
        print("stdout", "between"),
        Event::Update(rich("text/plain", "50 %", Some("bar"))),
        Event::Update(rich("text/plain", "100 %", Some("bar"))),
    ]);
    let expected =
        [Output::Display(rich("text/plain", "100 %", Some("bar"))), stream("stdout", "between")];
    assert_eq!(outputs, expected);
}

#[test]
fn an_update_of_an_earlier_executions_display_is_shown() {
    let update = rich("text/plain", "now", Some("earlier"));
    let (outputs, _) = collect([Event::Update(update.clone())]);
    assert_eq!(outputs, [Output::Display(update)]);
}

#[test]
fn clearing_forgets_at_once_or_with_the_next_output() {
    let (outputs, _) =
        collect([print("stdout", "old"), Event::Clear { wait: false }, print("stdout", "new")]);
    assert_eq!(outputs, [stream("stdout", "new")]);
    let (outputs, _) = collect([print("stdout", "old"), Event::Clear { wait: true }]);
    assert_eq!(outputs, [stream("stdout", "old")]);
    let (outputs, _) =
        collect([print("stdout", "old"), Event::Clear { wait: true }, print("stdout", "new")]);
    assert_eq!(outputs, [stream("stdout", "new")]);
}

#[test]
fn forms_that_do_not_fit_are_named_and_the_rest_is_kept() {
    let mut plot = rich("image/png", &"A".repeat(9_000), None);
    plot.data.insert("text/plain".to_owned(), json!("<Figure>"));
    let huge = rich("image/png", &"A".repeat(9_000), None);
    let (outputs, left_out) =
        collect([Event::Output(Output::Display(plot)), Event::Output(Output::Display(huge))]);
    assert_eq!(outputs[0], Output::Display(rich("text/plain", "<Figure>", None)));
    let said = "[image/png of 9011 bytes left out]";
    assert_eq!(outputs[1], Output::Display(rich("text/plain", said, None)));
    assert_eq!(left_out, 2 * 9011);
}

#[test]
fn any_number_of_displays_and_updates_stays_within_the_bound() {
    let shown = (0..10_000).map(|number| {
        let shown = rich("text/plain", &"x".repeat(number % 300), Some(&number.to_string()));
        Event::Output(Output::Display(shown))
    });
    let (outputs, left_out) = collect(shown);
    assert!(outputs.len() <= LIMITS.rich_bytes / OUTPUT_COST, "{}", outputs.len());
    assert!(left_out > 0);
    let first = Event::Output(Output::Display(rich("text/plain", "0", Some("id"))));
    let updates =
        (0..1_000).map(|_| Event::Update(rich("text/plain", &"x".repeat(4_000), Some("id"))));
    let (outputs, left_out) = collect([first].into_iter().chain(updates));
    assert_eq!((outputs.len(), left_out), (1, 0));
}

#[test]
fn the_latest_errors_are_kept_and_long_ones_shortened() {
    let error = |number: usize, size: usize| {
        Event::Output(Output::Error {
            name: format!("Error{number}"),
            value: "v".repeat(size),
            traceback: vec!["t".repeat(size); 2],
        })
    };
    let (outputs, _) = collect((0..1_000).map(|number| error(number, 10)));
    assert_eq!(outputs.len(), MOST_ERRORS);
    assert!(matches!(outputs.last(), Some(Output::Error { name, .. }) if name == "Error999"));
    let (outputs, _) = collect([error(0, 1_000_000)]);
    let Output::Error { value, traceback, .. } = &outputs[0] else { panic!("{outputs:?}") };
    assert!(value.len() < LONGEST_ERROR + 100 && traceback.len() == 1);
    assert!(traceback[0].len() < LONGEST_ERROR + 100);
}
