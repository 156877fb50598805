//! HTML: the main content of an article, else the whole page, without scripts and styles.

use std::cell::OnceCell;

use dom_smoothie::{Config, Readability};
use htmd::HtmlToMarkdown;
use htmd::options::{BulletListMarker, Options};
use url::Url;

use crate::document::Markdown;
use crate::error::ConvertError;
use crate::kind::Kind;
use crate::page::one_line;

/// Elements nested deeper than this are no page anybody wrote, and more than parsers should be fed.
const DEPTH: usize = 1000;
/// Pages larger than this are converted whole: looking for their main content takes too long.
const ARTICLE_BYTES: usize = 4 << 20;
/// Elements that are nothing to read.
const SKIPPED: [&str; 8] =
    ["script", "style", "noscript", "template", "head", "svg", "iframe", "canvas"];
/// What stands around the content of a page.
const AROUND: &str = "nav, header, footer, aside, form, script, style, noscript, template";
/// Classes by which programs know the language of code.
const LANGUAGES: [&str; 24] = [
    "bash",
    "c",
    "cpp",
    "csharp",
    "css",
    "diff",
    "go",
    "html",
    "java",
    "javascript",
    "js",
    "json",
    "kotlin",
    "php",
    "python",
    "ruby",
    "rust",
    "sh",
    "shell",
    "sql",
    "toml",
    "typescript",
    "xml",
    "yaml",
];

thread_local! {
    static CONVERTER: OnceCell<HtmlToMarkdown> = const { OnceCell::new() };
}

/// Converts a page.
pub(crate) fn convert(html: &str, url: Option<&str>) -> Result<Markdown, ConvertError> {
    refuse_depth(html)?;
    if html.len() > ARTICLE_BYTES {
        return Ok(Markdown::new(Kind::Html, fragment(html)?).titled(title_of(html)));
    }
    let config = Config { classes_to_preserve: language_classes(), ..Config::default() };
    let mut page = Readability::new(html, url, Some(config))
        .map_err(|error| ConvertError::broken("HTML page", error))?;
    let title = one_line(&page.get_article_title());
    let title = Some(title).filter(|title| !title.is_empty()).or_else(|| title_of(html));
    let read = page.is_probably_readable().then(|| article(&mut page)).flatten();
    let mut text = match read {
        Some(content) => fragment(&content)?,
        None => match url.and_then(|url| Url::parse(url).ok()) {
            // Looking for an article may have changed the page, so it is read anew.
            Some(base) => fragment(&whole_links(html, &base)?)?,
            None => fragment(html)?,
        },
    };
    if let Some(title) = &title
        && !text.lines().any(|line| line.starts_with("# "))
    {
        text = format!("# {title}\n\n{text}");
    }
    Ok(Markdown::new(Kind::Html, text).titled(title))
}

/// Markdown of any HTML, whole.
pub(crate) fn fragment(html: &str) -> Result<String, ConvertError> {
    refuse_depth(html)?;
    CONVERTER.with(|converter| {
        let converter = converter.get_or_init(|| {
            let options = Options {
                bullet_list_marker: BulletListMarker::Dash,
                ul_bullet_spacing: 1,
                ol_number_spacing: 1,
                ..Options::default()
            };
            HtmlToMarkdown::builder().options(options).skip_tags(SKIPPED.to_vec()).build()
        });
        converter.convert(html).map_err(|error| ConvertError::broken("HTML page", error))
    })
}

/// The main content, if it is most of what there is to read: a guess that loses half a page is a wrong one.
fn article(page: &mut Readability) -> Option<String> {
    let body = page.doc.select("body").text().split_whitespace().map(str::len).sum::<usize>();
    // Only the outermost count, or what is in them would count twice.
    let mut around = 0;
    for element in &page.doc.select("body").select(AROUND) {
        if !element.ancestors(None).is(AROUND) {
            around += element.text().split_whitespace().map(str::len).sum::<usize>();
        }
    }
    let found = page.parse().ok()?;
    let kept = found.text_content.split_whitespace().map(str::len).sum::<usize>();
    (kept * 10 >= body.saturating_sub(around) * 6).then(|| found.content.to_string())
}

/// The page with whole addresses in its links.
fn whole_links(html: &str, base: &Url) -> Result<String, ConvertError> {
    let page = Readability::new(html, None, None)
        .map_err(|error| ConvertError::broken("HTML page", error))?;
    for (selector, name) in [("a[href]", "href"), ("img[src]", "src")] {
        for element in &page.doc.select(selector) {
            let Some(address) = element.attr(name) else { continue };
            if !address.starts_with('#')
                && let Ok(whole) = base.join(&address)
            {
                element.set_attr(name, whole.as_str());
            }
        }
    }
    Ok(page.doc.html().to_string())
}

fn language_classes() -> Vec<String> {
    let named = |name: &&str| [format!("language-{name}"), format!("lang-{name}")];
    LANGUAGES.iter().flat_map(named).collect()
}

/// The title a page has in its head.
fn title_of(html: &str) -> Option<String> {
    let lower = html.get(..html.floor_char_boundary(64 << 10))?.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower.get(start..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    Some(one_line(html.get(start..end)?)).filter(|title| !title.is_empty())
}

/// Parsers of HTML call themselves for each level. Elements that close by themselves are not counted, so that old pages
/// with many open paragraphs are not taken for deep ones.
fn refuse_depth(html: &str) -> Result<(), ConvertError> {
    const CLOSED: [&str; 36] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr", "p", "li", "dt", "dd", "tr", "td", "th", "thead", "tbody",
        "tfoot", "option", "optgroup", "rb", "rt", "rp", "colgroup", "html", "head", "body",
        "path", "font", "!",
    ];
    let (mut depth, mut deepest) = (0_usize, 0);
    for (at, _) in html.match_indices('<') {
        let tag = html.get(at + 1..).unwrap_or_default();
        let closes = tag.starts_with('/');
        let tag = tag.strip_prefix('/').unwrap_or(tag);
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
        let name = tag.get(..end.min(16)).unwrap_or_default();
        if name.is_empty() || CLOSED.iter().any(|closed| name.eq_ignore_ascii_case(closed)) {
            continue;
        }
        depth = if closes { depth.saturating_sub(1) } else { depth + 1 };
        deepest = deepest.max(depth);
    }
    if deepest > DEPTH {
        let reason = format!("its elements are nested {deepest} deep, more than {DEPTH}");
        return Err(ConvertError::broken("HTML page", reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARTICLE: &str = "<html><head><title>The Reef</title><script>var x = 'SECRET';</script></head><body>
        <nav><a href='/home'>Home</a><a href='/about'>About</a></nav>
        <article><h1>The Reef</h1><p>A reef is a ridge of rock, coral or similar stable material that lies beneath the
        surface of the sea, and it is <a href='/coral'>full of life</a>, of fish, of weeds, and of much else.</p>
        <h2>Kinds</h2><ul><li>Fringing<ul><li>Young</li></ul></li><li>Barrier</li></ul>
        <p>There are many more of them than anybody has ever counted, and each of them is home to thousands of kinds of
        animals, plants, and other things that live, which depend on one another in ways, that are not all known.</p>
        <table><thead><tr><th>Name</th><th>Length</th></tr></thead><tbody><tr><td>Great</td><td>2300 km</td></tr></tbody></table>
        <pre><code class='language-rust'>let reef = 1;</code></pre>
        <p>The rest of what there is to say about reefs fills books, papers and films, and is not said here at all.</p>
        </article><footer>Copyright</footer></body></html>";

    #[test]
    fn an_article_keeps_its_structure_and_loses_what_stands_around_it() {
        let page = convert(ARTICLE, Some("https://sea.example/reef")).unwrap();
        assert_eq!(page.title.as_deref(), Some("The Reef"));
        let text = page.text;
        assert!(text.starts_with("# The Reef"), "{text}");
        assert!(text.contains("## Kinds"), "{text}");
        assert!(text.contains("[full of life](https://sea.example/coral)"), "{text}");
        assert!(text.contains("- Fringing\n  - Young\n- Barrier"), "{text}");
        assert!(text.contains("| Name") && text.contains("| Great"), "{text}");
        assert!(text.contains("```rust\nlet reef = 1;\n```"), "{text}");
        assert!(!text.contains("SECRET") && !text.contains("Copyright"), "{text}");
    }

    #[test]
    fn a_page_that_is_no_article_is_kept_whole_with_whole_links() {
        let html = "<title>Index</title><body><h2>Places</h2><ul><li><a href='a.html'>A</a></li>\
                    <li><a href='/b'>B</a></li></ul><style>p {color: red}</style>";
        let page = convert(html, Some("http://site.example/dir/")).unwrap();
        assert!(page.text.starts_with("# Index\n\n## Places"), "{}", page.text);
        assert!(page.text.contains("[A](http://site.example/dir/a.html)"), "{}", page.text);
        assert!(page.text.contains("[B](http://site.example/b)"), "{}", page.text);
        assert!(!page.text.contains("color"), "{}", page.text);
        assert!(convert(html, None).unwrap().text.contains("[A](a.html)"));
    }

    #[test]
    fn a_page_nested_without_end_is_refused_and_one_with_open_paragraphs_is_not() {
        let deep = "<div>".repeat(100_000);
        assert!(matches!(convert(&deep, None), Err(ConvertError::Broken { .. })));
        let open = "<p>text<li>item<br>".repeat(10_000);
        assert!(convert(&open, None).is_ok());
    }

    #[test]
    fn the_depth_that_is_let_in_fits_a_large_stack() {
        let run = || {
            let deep = format!("{}x{}", "<div><b>".repeat(490), "</b></div>".repeat(490));
            assert!(convert(&deep, None).unwrap().text.contains('x'));
        };
        std::thread::Builder::new()
            .stack_size(crate::worker::STACK)
            .spawn(run)
            .unwrap()
            .join()
            .unwrap();
    }
}
