//! RSS and Atom: the feed's title, then each entry with its link, date and text.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::html;
use crate::document::Markdown;
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::{Page, one_line};

/// Elements within one another that are followed.
const DEPTH: usize = 64;
/// Entries that are shown.
const ENTRIES: usize = 10_000;

/// A feed or an entry of it.
#[derive(Debug, Default)]
struct Entry {
    title: String,
    link: String,
    date: String,
    author: String,
    text: String,
}

/// Converts a feed.
pub(crate) fn convert(text: &str, room: u64) -> Result<Markdown, ConvertError> {
    let (feed, entries) = read(text)?;
    let mut page = Page::new(room);
    let title = one_line(&feed.title);
    page.block(&format!("# {}", if title.is_empty() { "Feed" } else { &title }))?;
    page.block(&html::fragment(&feed.text)?)?;
    for entry in &entries {
        let title = one_line(&html::fragment(&entry.title)?);
        let title = if title.is_empty() { "(without a title)" } else { &title };
        match entry.link.trim() {
            "" => page.block(&format!("## {title}"))?,
            link => page.block(&format!("## [{title}]({link})"))?,
        }
        let (date, author) = (one_line(&entry.date), one_line(&entry.author));
        let by = [date, author].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        page.block(&by.join(" · "))?;
        page.block(&html::fragment(&entry.text)?)?;
    }
    Ok(Markdown::new(Kind::Feed, page.finish())
        .titled(Some(title))
        .with("entries", Some(entries.len())))
}

fn read(text: &str) -> Result<(Entry, Vec<Entry>), ConvertError> {
    let broken = |error: &dyn std::fmt::Display| ConvertError::broken("feed", error);
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut feed = Entry::default();
    let mut entries: Vec<Entry> = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let mut inside = false;
    loop {
        match reader.read_event().map_err(|error| broken(&error))? {
            Event::Start(tag) => {
                let name = local(&tag);
                if matches!(name.as_str(), "item" | "entry") {
                    if entries.len() == ENTRIES {
                        return Err(ConvertError::too_large("the feed", ENTRIES as u64, "entries"));
                    }
                    inside = true;
                    entries.push(Entry::default());
                }
                let target = target(inside, &mut feed, &mut entries);
                link_of(&tag, &name, target);
                path.push(name);
                if path.len() > DEPTH {
                    return Err(broken(&format!("its elements are nested more than {DEPTH} deep")));
                }
            }
            Event::Empty(tag) => {
                let name = local(&tag);
                link_of(&tag, &name, target(inside, &mut feed, &mut entries));
            }
            Event::End(_) => {
                if matches!(path.pop().as_deref(), Some("item" | "entry")) {
                    inside = false;
                }
            }
            Event::Text(words) => {
                let words = words.xml10_content();
                add(&path, &words, target(inside, &mut feed, &mut entries));
            }
            Event::CData(words) => {
                let words = words.xml10_content();
                add(&path, &words, target(inside, &mut feed, &mut entries));
            }
            Event::GeneralRef(name) => {
                let name = name.xml10_content();
                add(&path, &resolved(&name), target(inside, &mut feed, &mut entries));
            }
            Event::Eof => break,
            _ => {}
        }
    }
    Ok((feed, entries))
}

fn target<'a>(inside: bool, feed: &'a mut Entry, entries: &'a mut [Entry]) -> &'a mut Entry {
    match entries.last_mut() {
        Some(entry) if inside => entry,
        _ => feed,
    }
}

/// The name of an element without its prefix.
fn local(tag: &BytesStart<'_>) -> String {
    tag.local_name().as_ref().to_ascii_lowercase()
}

/// Atom has its links in attributes.
fn link_of(tag: &BytesStart<'_>, name: &str, entry: &mut Entry) {
    if name != "link" || !entry.link.is_empty() {
        return;
    }
    let attribute = |wanted: &str| {
        let found = tag.attributes().flatten();
        let mut found = found.filter(|found| found.key.local_name().as_ref() == wanted);
        found.next().map(|found| found.value.replace("&amp;", "&"))
    };
    if attribute("rel").is_none_or(|rel| rel == "alternate")
        && let Some(address) = attribute("href")
    {
        entry.link = address;
    }
}

fn add(path: &[String], words: &str, entry: &mut Entry) {
    let mut names = path.iter().rev().map(String::as_str);
    let field = match (names.next(), names.next()) {
        (Some("title"), Some("item" | "entry" | "channel" | "feed")) => &mut entry.title,
        (Some("link"), Some("item" | "channel")) => &mut entry.link,
        (Some("pubdate" | "published" | "date"), _) => &mut entry.date,
        (Some("updated"), _) if entry.date.is_empty() => &mut entry.date,
        (Some("creator"), _) | (Some("name"), Some("author")) => &mut entry.author,
        (Some("description" | "encoded" | "content" | "summary" | "subtitle"), _) => {
            &mut entry.text
        }
        // Atom may have its content as elements.
        _ if path.iter().any(|name| name == "content") => &mut entry.text,
        _ => return,
    };
    field.push_str(words);
}

/// What a reference stands for; one the feed defines itself stays its name.
fn resolved(name: &str) -> String {
    let known = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => name.strip_prefix('#').and_then(|number| {
            let hex = number.strip_prefix(['x', 'X']);
            let code =
                hex.map_or_else(|| number.parse().ok(), |hex| u32::from_str_radix(hex, 16).ok());
            code.and_then(char::from_u32)
        }),
    };
    known.map_or_else(|| format!("&{name};"), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_rss_and_atom_are_listed_with_links_and_text() {
        let rss = "<?xml version='1.0'?><rss><channel><title>Sea &amp; News</title><link>http://s/</link>\
            <item><title>One</title><link>http://s/1</link><pubDate>Mon, 1 Jan</pubDate>\
            <description>&lt;p&gt;Some &lt;b&gt;words&lt;/b&gt;&lt;/p&gt;</description></item>\
            <item><title><![CDATA[Two]]></title><description><![CDATA[<ul><li>x</li></ul>]]></description></item></channel></rss>";
        let feed = convert(rss, 10_000).unwrap();
        assert_eq!(feed.title.as_deref(), Some("Sea & News"));
        assert_eq!(
            feed.text,
            "# Sea & News\n\n## [One](http://s/1)\n\nMon, 1 Jan\n\nSome **words**\n\n## Two\n\n- x"
        );
        let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><title>T</title><link rel='self' href='x'/>\
            <entry><title>E</title><link href='http://a/?b=1&amp;c=2'/><updated>2026</updated>\
            <author><name>Me</name></author><summary>S</summary></entry></feed>";
        assert_eq!(
            convert(atom, 10_000).unwrap().text,
            "# T\n\n## [E](http://a/?b=1&c=2)\n\n2026 · Me\n\nS"
        );
    }

    #[test]
    fn a_feed_that_defines_entities_does_not_grow() {
        let bomb = "<!DOCTYPE rss [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]>\
            <rss><channel><title>&b;&b;</title></channel></rss>";
        assert_eq!(convert(bomb, 1000).unwrap().title.as_deref(), Some("&b;&b;"));
    }
}
