use super::*;
use axum::body::Body;
use axum::http::HeaderMap;
use futures::stream;
use std::io;

fn form(pieces: Vec<Bytes>, file_bytes: u64) -> Form {
    let body = Body::from_stream(stream::iter(pieces.into_iter().map(Ok::<_, io::Error>)));
    let boundary = Boundary::new(b"AaB03x").unwrap();
    Form::new(Arrival::new(&HeaderMap::new(), body), boundary, file_bytes)
}

fn whole(text: &[u8]) -> Form {
    form(vec![Bytes::copy_from_slice(text)], 1 << 20)
}

async fn read(mut form: Form) -> Result<Vec<(Part, Vec<u8>)>, Failure> {
    let mut parts = Vec::new();
    while let Some(part) = form.next_part().await? {
        let mut data = Vec::new();
        while let Some(chunk) = form.chunk().await? {
            assert!(!chunk.is_empty());
            data.extend_from_slice(&chunk);
        }
        parts.push((part, data));
    }
    assert!(form.next_part().await?.is_none(), "the end stays the end");
    Ok(parts)
}

fn part(name: &str, filename: Option<&str>) -> Part {
    Part { name: Some(name.to_owned()), filename: filename.map(str::to_owned) }
}

const EXAMPLE: &[u8] = b"a preamble\r\n--AaB03x\r\n\
    Content-Disposition: form-data; name=\"path\"\r\n\r\n/tmp/\r\n--x\r\n--AaB03 \r\n--AaB03x  \r\n\
    content-type: text/plain\r\nCONTENT-DISPOSITION: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n\
    \r\n\r\r\n--AaB03\xff\0\r\n--AaB03x\r\n\
    Content-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n--AaB03x--\r\nan epilogue\r\n--AaB03x\r\n";

fn expected() -> Vec<(Part, Vec<u8>)> {
    vec![
        (part("path", None), b"/tmp/\r\n--x\r\n--AaB03 ".to_vec()),
        (part("file", Some("a.bin")), b"\r\n\r\r\n--AaB03\xff\0".to_vec()),
        (part("empty", None), Vec::new()),
    ]
}

#[tokio::test]
async fn a_form_is_taken_apart_wherever_its_bytes_split() {
    assert_eq!(read(whole(EXAMPLE)).await.unwrap(), expected());
    for size in 1..EXAMPLE.len() {
        let pieces = EXAMPLE.chunks(size).map(Bytes::copy_from_slice).collect();
        assert_eq!(read(form(pieces, 1 << 20)).await.unwrap(), expected(), "in pieces of {size}");
    }
    for at in 0..EXAMPLE.len() {
        let (first, second) = EXAMPLE.split_at(at);
        let pieces = vec![Bytes::copy_from_slice(first), Bytes::copy_from_slice(second)];
        assert_eq!(read(form(pieces, 1 << 20)).await.unwrap(), expected(), "split at {at}");
    }
}

#[tokio::test]
async fn parts_that_are_not_wanted_are_passed_over() {
    let mut form = whole(EXAMPLE);
    assert_eq!(form.next_part().await.unwrap(), Some(part("path", None)));
    assert_eq!(form.next_part().await.unwrap(), Some(part("file", Some("a.bin"))));
    form.chunk().await.unwrap();
    assert_eq!(form.next_part().await.unwrap(), Some(part("empty", None)));
    assert_eq!(form.next_part().await.unwrap(), None);
    assert!(form.into_arrival().next().await.unwrap().is_none(), "the epilogue was read");
}

#[tokio::test]
async fn a_form_may_be_empty_or_end_without_a_line_break() {
    assert_eq!(read(whole(b"--AaB03x--")).await.unwrap(), []);
    let unnamed = read(whole(b"--AaB03x\r\n\r\nx\r\n--AaB03x--")).await.unwrap();
    assert_eq!(unnamed, [(Part::default(), b"x".to_vec())]);
}

#[tokio::test]
async fn a_form_that_is_cut_off_is_broken_wherever_it_was_cut() {
    let end = EXAMPLE.windows(10).position(|window| window == b"--AaB03x--").unwrap() + 10;
    for length in 0..end {
        let failure = read(whole(&EXAMPLE[..length])).await.unwrap_err();
        assert_eq!(failure.status, StatusCode::BAD_REQUEST, "{length}");
        assert_eq!(failure.error.code(), "request.form");
    }
}

#[tokio::test]
async fn nothing_in_a_form_grows_without_bound() {
    let head = "--AaB03x\r\nX-Long: ".to_owned() + &"x".repeat(HEAD_BYTES);
    let failure = read(whole(head.as_bytes())).await.unwrap_err();
    assert!(failure.error.message().contains("head of a part"), "{failure:?}");
    let head = "--AaB03x\r\n".to_owned() + &"X-Short: x\r\n".repeat(HEAD_BYTES / 12 + 1);
    let failure = read(whole(head.as_bytes())).await.unwrap_err();
    assert!(failure.error.message().contains("head of a part"), "{failure:?}");
    let parts = "--AaB03x\r\n\r\n\r\n".repeat(PARTS + 1);
    let failure = read(whole(parts.as_bytes())).await.unwrap_err();
    assert!(failure.error.message().contains("parts"), "{failure:?}");

    let field = "--AaB03x\r\n\r\n".to_owned() + &"x".repeat(FIELD_BYTES + 1) + "\r\n--AaB03x--";
    let mut form = whole(field.as_bytes());
    form.next_part().await.unwrap();
    let failure = form.text("long").await.unwrap_err();
    assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(failure.error.message().contains("field long"), "{failure:?}");

    let piece = Bytes::from(vec![b'x'; 1 << 20]);
    let count = usize::try_from(FORM_BYTES >> 20).unwrap() + 2;
    let mut form = super::tests::form(vec![piece; count], 1 << 20);
    let failure = form.next_part().await.unwrap_err();
    assert_eq!(failure.status, StatusCode::PAYLOAD_TOO_LARGE, "a preamble counts too");
}

#[tokio::test]
async fn heads_that_make_no_sense_are_refused() {
    for text in ["--AaB03xyz\r\n\r\n", "--AaB03x\r\nno colon\r\n\r\nx\r\n--AaB03x--"] {
        let failure = read(whole(text.as_bytes())).await.unwrap_err();
        assert_eq!(failure.error.code(), "request.form", "{text}");
    }
}
