//! The keyboard: keys, combinations, and text typed into what has the focus.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::element::settle::Settling;
use crate::input::Key;
use crate::input::key::Modifiers;
use crate::{Reply, Result, Tab};

/// How long a page may take to handle one event of the keyboard.
const HANDLED: Duration = Duration::from_secs(30);
/// Events that may be under way at once.
const UNDER_WAY: usize = 64;

impl Tab {
    /// Presses a key, or a combination such as `Control+A`, on what has the focus.
    pub async fn press_key(self: &Arc<Self>, key: &str) -> Result<()> {
        let keys = Key::parse_combination(key)?;
        self.press_keys(keys).await
    }

    /// Presses keys together: all are held down in turn, then let go in reverse.
    pub async fn hot_key(self: &Arc<Self>, keys: &[String]) -> Result<()> {
        let keys = keys.iter().map(|key| Key::parse_combination(key));
        let keys = keys.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        self.press_keys(keys).await
    }

    async fn press_keys(self: &Arc<Self>, keys: Vec<Key>) -> Result<()> {
        let settling = Settling::begin(self);
        let mut typing = Typing::new(self);
        let mut modifiers = Modifiers::default();
        let mut down = Vec::new();
        for key in keys {
            modifiers.0 |= key.modifier();
            let key = key.with(modifiers);
            typing.send("Input.dispatchKeyEvent", pressed(&key, modifiers)).await?;
            down.push(key);
        }
        for key in down.into_iter().rev() {
            modifiers.0 &= !key.modifier();
            typing.send("Input.dispatchKeyEvent", released(&key, modifiers)).await?;
        }
        typing.finish().await?;
        settling.end().await;
        Ok(())
    }

    /// Types text, key by key, with a pause after each. What no key types is put in as an input method would.
    pub async fn type_text(self: &Arc<Self>, text: &str, delay: Duration) -> Result<()> {
        let settling = Settling::begin(self);
        let mut typing = Typing::new(self);
        let text = text.replace("\r\n", "\n");
        let mut composed = String::new();
        for character in text.chars() {
            let Some(key) = Key::typing(character) else {
                // Characters that belong together, as those of an emoji, stay together.
                composed.push(character);
                continue;
            };
            typing.compose(&mut composed, delay).await?;
            let none = Modifiers::default();
            typing.send("Input.dispatchKeyEvent", pressed(&key, none)).await?;
            typing.send("Input.dispatchKeyEvent", released(&key, none)).await?;
            typing.pause(delay).await?;
        }
        typing.compose(&mut composed, delay).await?;
        typing.finish().await?;
        settling.end().await;
        Ok(())
    }
}

/// Events on their way to a page: sent in order, several at once.
struct Typing<'a> {
    tab: &'a Arc<Tab>,
    under_way: VecDeque<Reply>,
}

impl<'a> Typing<'a> {
    fn new(tab: &'a Arc<Tab>) -> Self {
        Self { tab, under_way: VecDeque::new() }
    }

    async fn send(&mut self, method: &str, params: Value) -> Result<()> {
        if self.under_way.len() >= UNDER_WAY
            && let Some(oldest) = self.under_way.pop_front()
        {
            oldest.within(HANDLED).await.map_err(|error| self.tab.explain(error))?;
        }
        let reply = self.tab.session().start(method, params)?;
        self.under_way.push_back(reply);
        Ok(())
    }

    async fn compose(&mut self, text: &mut String, delay: Duration) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(text);
        self.send("Input.insertText", json!({ "text": text })).await?;
        self.pause(delay).await
    }

    /// Lets the page handle what was sent, then waits.
    async fn pause(&mut self, delay: Duration) -> Result<()> {
        if delay.is_zero() {
            return Ok(());
        }
        self.drain().await?;
        tokio::time::sleep(delay).await;
        Ok(())
    }

    async fn drain(&mut self) -> Result<()> {
        while let Some(reply) = self.under_way.pop_front() {
            reply.within(HANDLED).await.map_err(|error| self.tab.explain(error))?;
        }
        Ok(())
    }

    async fn finish(mut self) -> Result<()> {
        self.drain().await
    }
}

fn pressed(key: &Key, modifiers: Modifiers) -> Value {
    let kind = if key.text.is_empty() { "rawKeyDown" } else { "keyDown" };
    let mut event = event(kind, key, modifiers);
    if !key.text.is_empty() {
        event["text"] = Value::from(key.text.as_str());
        event["unmodifiedText"] = Value::from(key.text.as_str());
    }
    event
}

fn released(key: &Key, modifiers: Modifiers) -> Value {
    event("keyUp", key, modifiers)
}

fn event(kind: &str, key: &Key, modifiers: Modifiers) -> Value {
    json!({
        "type": kind,
        "key": key.key,
        "code": key.code,
        "windowsVirtualKeyCode": key.key_code,
        "modifiers": modifiers.0,
        "location": key.location,
        "isKeypad": key.location == 3,
    })
}
