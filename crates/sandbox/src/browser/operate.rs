//! Operating a page: mouse, keyboard, forms, scrolling.

use std::time::Duration;

use atoll_api::browser::{
    CheckBox, ClickElement, FillField, FillForm, FilledForm, HoverElement, MouseButton, PageState,
    PressHotKey, PressKey, ScrollDirection, ScrollPage, ScrollPosition, ScrollTo, ScrollToElement,
    SelectOption, SelectedOptions, TypeText, UncheckBox, UploadToPage,
};
use atoll_browser::element::{Direction, FormItem, Pointer, Scrolled, SelectBy, Target};
use atoll_operation::{Context, Error, Handle, Kind};
use serde_json::json;

use super::error::failure;
use super::service::{Browsers, patience};

const SECONDS: f64 = 10.0;

/// The number of an element or option; a negative one is none.
fn number(field: &'static str, index: Option<i64>) -> Result<Option<usize>, Error> {
    let wrong = || Error::field(field, "minimum", "must be at least 0");
    index.map(|index| usize::try_from(index).map_err(|_| wrong())).transpose()
}

/// An empty selector is none.
fn given(selector: Option<String>) -> Option<String> {
    selector.filter(|selector| !selector.trim().is_empty())
}

impl Handle<ClickElement> for Browsers {
    async fn handle(&self, cx: &Context, input: ClickElement) -> Result<PageState, Error> {
        let index = number("index", input.index)?;
        let place = Pointer::choose(given(input.selector), index, input.x, input.y)
            .map_err(|error| failure(error.into()))?;
        let button = match input.button {
            MouseButton::Left => "left",
            MouseButton::Right => "right",
            MouseButton::Middle => "middle",
        };
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        page.state(page.tab.click(&place, button, input.click_count, within).await).await
    }
}

impl Handle<FillField> for Browsers {
    async fn handle(&self, cx: &Context, input: FillField) -> Result<PageState, Error> {
        let target = match (given(input.selector), number("index", input.index)?) {
            (Some(selector), _) => Target::Selector(selector),
            (None, Some(index)) => Target::Index(index),
            (None, None) => Target::Selector(":focus".to_owned()),
        };
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        page.state(page.tab.fill(&target, &input.text, within).await).await
    }
}

impl Handle<TypeText> for Browsers {
    async fn handle(&self, cx: &Context, input: TypeText) -> Result<PageState, Error> {
        let delay = Duration::try_from_secs_f64(input.delay / 1000.0).unwrap_or_default();
        let page = self.page(cx, input.context.as_deref()).await?;
        if let Some(selector) = given(input.selector) {
            let place = Pointer::choose(Some(selector), None, None, None);
            let place = place.map_err(|error| failure(error.into()))?;
            page.outcome(page.tab.click(&place, "left", 1, patience(None, SECONDS)).await)?;
        }
        page.state(page.tab.type_text(&input.text, delay).await).await
    }
}

impl Handle<PressKey> for Browsers {
    async fn handle(&self, cx: &Context, input: PressKey) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        page.state(page.tab.press_key(&input.key).await).await
    }
}

impl Handle<PressHotKey> for Browsers {
    async fn handle(&self, cx: &Context, input: PressHotKey) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        page.state(page.tab.hot_key(&input.keys).await).await
    }
}

impl Handle<HoverElement> for Browsers {
    async fn handle(&self, cx: &Context, input: HoverElement) -> Result<PageState, Error> {
        let index = number("index", input.index)?;
        let place = Pointer::choose(given(input.selector), index, input.x, input.y)
            .map_err(|error| failure(error.into()))?;
        let page = self.page(cx, input.context.as_deref()).await?;
        page.state(page.tab.hover(&place, patience(input.timeout, SECONDS)).await).await
    }
}

impl Handle<SelectOption> for Browsers {
    async fn handle(&self, cx: &Context, input: SelectOption) -> Result<SelectedOptions, Error> {
        let index = number("index", input.index)?;
        let choice = match (input.value, input.label, index) {
            (Some(value), ..) => SelectBy::Value(value),
            (None, Some(label), _) => SelectBy::Label(label),
            (None, None, Some(index)) => SelectBy::Index(index),
            (None, None, None) => {
                let message = "nothing says which option: give its value, label or index";
                return Err(Error::new(Kind::InvalidArgument, "browser.no_target", message));
            }
        };
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        let target = Target::Selector(input.selector);
        let selected = page.tab.select_option(&target, &[choice], within).await;
        Ok(SelectedOptions { selected: page.outcome(selected)?.values })
    }
}

impl Handle<CheckBox> for Browsers {
    async fn handle(&self, cx: &Context, input: CheckBox) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        page.state(page.tab.set_checked(&Target::Selector(input.selector), true, within).await)
            .await
    }
}

impl Handle<UncheckBox> for Browsers {
    async fn handle(&self, cx: &Context, input: UncheckBox) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        page.state(page.tab.set_checked(&Target::Selector(input.selector), false, within).await)
            .await
    }
}

impl Handle<UploadToPage> for Browsers {
    async fn handle(&self, cx: &Context, input: UploadToPage) -> Result<PageState, Error> {
        let mut files = Vec::new();
        for file in input.files {
            files.push(self.existing(cx, file).await?);
        }
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        let target = Target::Selector(input.selector);
        page.state(page.tab.upload_files(&target, &files, within).await).await
    }
}

impl Handle<FillForm> for Browsers {
    async fn handle(&self, cx: &Context, input: FillForm) -> Result<FilledForm, Error> {
        let mut items = Vec::new();
        for mut item in input.items {
            for file in item.files.iter_mut().flatten() {
                let path = self.existing(cx, std::mem::take(file)).await?;
                *file = path.to_string_lossy().into_owned();
            }
            let mut item = json!(item);
            if let Some(fields) = item.as_object_mut() {
                fields.retain(|_, value| !value.is_null());
            }
            items.push(item);
        }
        let items = FormItem::parse_all(&items).map_err(|error| failure(error.into()))?;
        let page = self.page(cx, input.context.as_deref()).await?;
        let filled = page.tab.fill_form(&items, patience(input.timeout, SECONDS)).await;
        page.outcome(filled)?;
        Ok(FilledForm { filled: items.len() as u64 })
    }
}

fn position(scrolled: Scrolled) -> ScrollPosition {
    let Scrolled { x, y, max_x, max_y } = scrolled;
    ScrollPosition { x, y, max_x, max_y }
}

impl Handle<ScrollPage> for Browsers {
    async fn handle(&self, cx: &Context, input: ScrollPage) -> Result<ScrollPosition, Error> {
        let direction = match input.direction {
            ScrollDirection::Up => Direction::Up,
            ScrollDirection::Down => Direction::Down,
            ScrollDirection::Left => Direction::Left,
            ScrollDirection::Right => Direction::Right,
        };
        let page = self.page(cx, input.context.as_deref()).await?;
        #[expect(clippy::cast_precision_loss, reason = "a page is smaller than 2^52 pixels")]
        let amount = input.amount as f64;
        Ok(position(page.outcome(page.tab.scroll(direction, amount).await)?))
    }
}

impl Handle<ScrollTo> for Browsers {
    async fn handle(&self, cx: &Context, input: ScrollTo) -> Result<ScrollPosition, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        #[expect(clippy::cast_precision_loss, reason = "a page is smaller than 2^52 pixels")]
        let (x, y) = (input.x as f64, input.y as f64);
        Ok(position(page.outcome(page.tab.scroll_to(x, y).await)?))
    }
}

impl Handle<ScrollToElement> for Browsers {
    async fn handle(&self, cx: &Context, input: ScrollToElement) -> Result<PageState, Error> {
        let page = self.page(cx, input.context.as_deref()).await?;
        let within = patience(input.timeout, SECONDS);
        let target = Target::Selector(input.selector);
        page.state(page.tab.scroll_to_element(&target, within).await).await
    }
}
