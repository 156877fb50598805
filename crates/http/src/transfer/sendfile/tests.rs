use std::io::Write;

use http_body_util::BodyExt;

use super::*;

const LENGTH: usize = (3 << 20) + 77;

fn source() -> (FileSource, Vec<u8>) {
    let bytes: Vec<u8> = (1_u32..).flat_map(u32::to_be_bytes).take(LENGTH).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes).unwrap();
    let source = FileSource { file: Arc::new(file), length: LENGTH as u64, check: None };
    (source, bytes)
}

/// An answer with these bytes of the file.
fn answer(source: FileSource, range: Range<u64>) -> Response {
    let mut response = Response::new(Body::empty());
    let length = HeaderValue::from(range.end - range.start);
    response.headers_mut().insert(header::CONTENT_LENGTH, length);
    put(&mut response, source, range);
    response
}

async fn read(response: Response) -> Vec<u8> {
    response.into_body().collect().await.unwrap().to_bytes().to_vec()
}

fn is_all_stand_ins(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

#[tokio::test]
async fn without_a_connection_the_file_itself_is_read() {
    let (source, bytes) = source();
    let whole = answer(source.clone(), 0..LENGTH as u64);
    assert!(read(whole).await == bytes);
    let part = answer(source, 100..2_000_000);
    assert!(read(part).await == bytes[100..2_000_000]);
}

type Change = fn(&mut Response);

#[tokio::test]
async fn an_offer_is_taken_up_once_and_only_for_an_answer_nobody_changed() {
    let (source, bytes) = source();
    let outgoing = Outgoing::default();
    let taken = take_up(answer(source.clone(), 0..LENGTH as u64), &outgoing);
    assert!(taken.extensions().get::<Offer>().is_none());
    assert_eq!(taken.body().size_hint().exact(), Some(LENGTH as u64));
    let stand_ins = read(taken).await;
    assert!(stand_ins.len() == LENGTH && is_all_stand_ins(&stand_ins));

    let changes: [Change; 3] = [
        |response| drop(response.headers_mut().remove(header::CONTENT_LENGTH)),
        |response| {
            let encoding = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::CONTENT_ENCODING, encoding);
        },
        |response| {
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(1));
        },
    ];
    for change in changes {
        let mut response = answer(source.clone(), 0..LENGTH as u64);
        change(&mut response);
        let kept = take_up(response, &Outgoing::default());
        assert!(read(kept).await == bytes, "the real thing");
    }
}

#[tokio::test]
async fn small_parts_and_files_that_must_not_change_are_always_read() {
    let (source, bytes) = source();
    let small = take_up(answer(source.clone(), 5..5 + LEAST_BYTES - 1), &Outgoing::default());
    assert!(read(small).await == bytes[5..usize::try_from(5 + LEAST_BYTES - 1).unwrap()]);
    let checked = FileSource { check: Some(Arc::new(|| Ok(()))), ..source };
    let checked = take_up(answer(checked, 0..LENGTH as u64), &Outgoing::default());
    assert!(read(checked).await == bytes);
}
