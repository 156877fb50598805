//! How the browser shall be: the `[browser]` table of the file, and the variables existing deployments set.

use std::path::PathBuf;

use atoll_sandbox::browser::BrowserSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigError, Variables};

/// How the browser shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct BrowserConfig {
    /// Whether there shall be none.
    pub(crate) disabled: bool,
    /// Whether it is started with the server, so that the first operation need not wait for it.
    pub(crate) warm: bool,
    /// Whether there shall be no desktop; the browser has no window then, and nobody can watch it.
    pub(crate) no_desktop: bool,
    /// Whether it is on the desktop from its start; it has no window otherwise until the desktop is first needed.
    pub(crate) on_desktop: bool,
    /// The program; Chromium or Chrome is looked for otherwise.
    pub(crate) executable: Option<PathBuf>,
    /// The X display to show it on, such as `:99`; it has no window otherwise.
    pub(crate) display: Option<String>,
    /// Width of its window in pixels.
    pub(crate) width: u32,
    /// Height of its window in pixels.
    pub(crate) height: u32,
    /// Whether it locks its pages in; where that is possible when not set.
    pub(crate) sandbox: Option<bool>,
    /// Language of its pages, such as `de-DE`.
    pub(crate) locale: Option<String>,
    /// What it tells servers it is.
    pub(crate) user_agent: Option<String>,
    /// More of its command line.
    pub(crate) arguments: Vec<String>,
    /// What its first tab shows.
    pub(crate) homepage: Option<String>,
    /// Whether pages may open file dialogs; the browser decides when not set.
    pub(crate) allow_file_dialogs: Option<bool>,
}

/// Where each setting can be made beside the file.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("disabled", "DISABLE_BROWSER, ENABLE_BROWSER (its opposite)"),
    ("warm", "ATOLL_WARM_BROWSER"),
    ("no_desktop", "DISABLE_VNC, ENABLE_VNC (its opposite)"),
    ("on_desktop", "ATOLL_BROWSER_ON_DESKTOP"),
    ("executable", "BROWSER_EXECUTABLE_PATH"),
    ("display", "ATOLL_BROWSER_DISPLAY"),
    ("width", "DISPLAY_WIDTH"),
    ("height", "DISPLAY_HEIGHT"),
    ("sandbox", "BROWSER_NO_SANDBOX (its opposite)"),
    ("locale", "BROWSER_LANG, CHROME_UI_LANG"),
    ("user_agent", "BROWSER_USER_AGENT"),
    ("arguments", "BROWSER_EXTRA_ARGS, BROWSER_COMMANDLINE_ARGS"),
    ("homepage", "HOMEPAGE"),
    ("allow_file_dialogs", "BROWSER_ALLOW_FILE_SELECTION_DIALOGS"),
];

/// What one source says about it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BrowserLayer {
    disabled: Option<bool>,
    warm: Option<bool>,
    no_desktop: Option<bool>,
    on_desktop: Option<bool>,
    executable: Option<PathBuf>,
    display: Option<String>,
    width: Option<u32>,
    height: Option<u32>,
    sandbox: Option<bool>,
    locale: Option<String>,
    user_agent: Option<String>,
    arguments: Option<Vec<String>>,
    homepage: Option<String>,
    allow_file_dialogs: Option<bool>,
}

impl BrowserLayer {
    /// This layer, and where it says nothing the one below.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            disabled: self.disabled.or(below.disabled),
            warm: self.warm.or(below.warm),
            no_desktop: self.no_desktop.or(below.no_desktop),
            on_desktop: self.on_desktop.or(below.on_desktop),
            executable: self.executable.or(below.executable),
            display: self.display.or(below.display),
            width: self.width.or(below.width),
            height: self.height.or(below.height),
            sandbox: self.sandbox.or(below.sandbox),
            locale: self.locale.or(below.locale),
            user_agent: self.user_agent.or(below.user_agent),
            arguments: self.arguments.or(below.arguments),
            homepage: self.homepage.or(below.homepage),
            allow_file_dialogs: self.allow_file_dialogs.or(below.allow_file_dialogs),
        }
    }

    /// What comes out.
    pub(super) fn resolve(self) -> BrowserConfig {
        let usual = BrowserSettings::default();
        BrowserConfig {
            disabled: self.disabled.unwrap_or_default(),
            warm: self.warm.unwrap_or_default(),
            no_desktop: self.no_desktop.unwrap_or_default(),
            on_desktop: self.on_desktop.unwrap_or_default(),
            executable: self.executable.map(super::absolute),
            display: self.display,
            width: self.width.unwrap_or(usual.window.0),
            height: self.height.unwrap_or(usual.window.1),
            sandbox: self.sandbox,
            locale: self.locale,
            user_agent: self.user_agent,
            arguments: self.arguments.unwrap_or_default(),
            homepage: self.homepage,
            allow_file_dialogs: self.allow_file_dialogs,
        }
    }
}

impl Variables {
    /// What the environment says about the browser.
    pub(super) fn browser(&self) -> Result<BrowserLayer, ConfigError> {
        let text = |name: &str| self.get(name).map(str::to_owned);
        let pixels = |_| "write a number of pixels".to_owned();
        let arguments: Vec<_> = ["BROWSER_EXTRA_ARGS", "BROWSER_COMMANDLINE_ARGS"]
            .into_iter()
            .filter_map(|name| self.get(name))
            .flat_map(words)
            .collect();
        Ok(BrowserLayer {
            disabled: self.off_switch("DISABLE_BROWSER", "ENABLE_BROWSER")?,
            warm: self.switch("ATOLL_WARM_BROWSER")?,
            no_desktop: self.off_switch("DISABLE_VNC", "ENABLE_VNC")?,
            on_desktop: self.switch("ATOLL_BROWSER_ON_DESKTOP")?,
            executable: self.get("BROWSER_EXECUTABLE_PATH").map(PathBuf::from),
            display: text("ATOLL_BROWSER_DISPLAY"),
            width: self.parse("DISPLAY_WIDTH", pixels)?,
            height: self.parse("DISPLAY_HEIGHT", pixels)?,
            sandbox: self.switch("BROWSER_NO_SANDBOX")?.map(|without| !without),
            locale: text("BROWSER_LANG").or_else(|| text("CHROME_UI_LANG")),
            user_agent: text("BROWSER_USER_AGENT"),
            arguments: (!arguments.is_empty()).then_some(arguments),
            homepage: text("HOMEPAGE"),
            allow_file_dialogs: self.switch("BROWSER_ALLOW_FILE_SELECTION_DIALOGS")?,
        })
    }
}

/// The words of a command line: separated by white space, unless quotes hold them together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in line.chars() {
        match (char, quote) {
            ('"' | '\'', None) => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (char, Some(open)) if char == open => quote = None,
            (char, None) if char.is_whitespace() => words.extend(word.take()),
            (char, _) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

impl From<BrowserConfig> for BrowserSettings {
    fn from(config: BrowserConfig) -> Self {
        Self {
            disabled: config.disabled,
            warm: config.warm,
            executable: config.executable,
            display: config.display,
            window: (config.width, config.height),
            sandbox: config.sandbox,
            locale: config.locale,
            user_agent: config.user_agent,
            extra_arguments: config.arguments,
            homepage: config.homepage,
            allow_file_selection_dialogs: config.allow_file_dialogs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browser(list: &[(&str, &str)]) -> BrowserConfig {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let variables: Variables = list.iter().map(owned).collect();
        variables.browser().unwrap().resolve()
    }

    #[test]
    fn variables_of_existing_deployments_mean_what_they_always_meant() {
        let config = browser(&[
            ("DISPLAY_WIDTH", "1920"),
            ("DISPLAY_HEIGHT", "1080"),
            ("BROWSER_NO_SANDBOX", "true"),
            ("BROWSER_EXTRA_ARGS", "--one --two=\"a b\" '' "),
            ("BROWSER_COMMANDLINE_ARGS", "--three"),
            ("BROWSER_ALLOW_FILE_SELECTION_DIALOGS", "false"),
            ("HOMEPAGE", "https://example.com"),
        ]);
        assert_eq!((config.width, config.height), (1920, 1080));
        assert_eq!(config.sandbox, Some(false));
        assert_eq!(config.arguments, ["--one", "--two=a b", "", "--three"]);
        assert_eq!(config.allow_file_dialogs, Some(false));
        assert_eq!(config.homepage.as_deref(), Some("https://example.com"));
        assert!(!config.disabled && config.executable.is_none());
    }

    #[test]
    fn an_earlier_layer_wins() {
        let flags = BrowserLayer { width: Some(1), ..BrowserLayer::default() };
        let file = BrowserLayer { width: Some(2), height: Some(3), ..BrowserLayer::default() };
        let config = flags.over(file).resolve();
        assert_eq!((config.width, config.height), (1, 3));
    }
}
