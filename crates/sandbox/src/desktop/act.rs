//! Mouse and keyboard.

use std::sync::Arc;
use std::time::Duration;

use atoll_api::browser::MouseButton;
use atoll_api::desktop::{
    ActionOutcome, ActionStatus, ActionsOutcome, PerformAction, PerformActions, ScreenPicture,
};
use atoll_desktop::{Action, Button, Performed, Point};
use atoll_operation::{Context, Error, Handle};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::error::failure;
use super::look::picture;
use super::service::Desktops;

/// Told when a text was offered for pasting and nobody took it.
const UNPASTED: &str = "no program took the text from the clipboard: click into a text field first, or send use_clipboard=false to type it key by key";

impl Handle<PerformAction> for Desktops {
    async fn handle(&self, cx: &Context, input: PerformAction) -> Result<ActionOutcome, Error> {
        let session = self.session(cx).await?;
        let name = input.name();
        let action = action(input);
        let performed = if let Action::Wait(_) = action {
            session.perform(action).await
        } else {
            // It goes on when the caller leaves: half of it would leave keys down.
            let performing =
                self.programs.tasks().spawn(async move { session.perform(action).await });
            performing.await.map_err(interrupted)?
        };
        let performed = performed.map_err(failure)?;
        advise(cx, &[performed]);
        Ok(ActionOutcome { status: ActionStatus::Success, action_performed: name.to_owned() })
    }
}

impl Handle<PerformActions> for Desktops {
    async fn handle(&self, cx: &Context, input: PerformActions) -> Result<ActionsOutcome, Error> {
        let session = self.session(cx).await?;
        let names: Vec<_> = input.actions.iter().map(PerformAction::name).collect();
        let actions = input.actions.into_iter().map(action).collect();
        // When the caller leaves they end in order, so that no key stays down.
        let stop = self.programs.foundation().stop.child_token();
        let left = stop.clone().drop_guard();
        let hands = Arc::clone(&session);
        let performing =
            self.programs.tasks().spawn(async move { hands.perform_all(actions, &stop).await });
        let (performed, error) = performing.await.map_err(interrupted)?;
        drop(left);
        advise(cx, &performed);
        let done: Vec<_> =
            names.iter().take(performed.len()).map(|name| (*name).to_owned()).collect();
        if let Some(error) = error {
            let cause = failure(error);
            let name = names.get(done.len()).copied().unwrap_or_default();
            let message = format!("action {} ({name}): {}", done.len(), cause.message());
            let details = json!({"position": done.len(), "performed": done});
            return Err(
                Error::new(cause.kind(), cause.code().to_owned(), message).with_details(details)
            );
        }
        let screenshot = if input.screenshot {
            let (picture, media_type, _) = picture(&session, input.format, input.quality).await?;
            Some(ScreenPicture {
                media_type: media_type.to_owned(),
                data: STANDARD.encode(&picture.bytes),
                width: picture.size.width.into(),
                height: picture.size.height.into(),
            })
        } else {
            None
        };
        Ok(ActionsOutcome { performed: done, screenshot })
    }
}

fn advise(cx: &Context, performed: &[Performed]) {
    if performed.iter().any(|performed| performed.unpasted) {
        let before = cx.take_hint().map(|hint| format!("{hint}; ")).unwrap_or_default();
        cx.hint(format!("{before}{UNPASTED}"));
    }
}

fn interrupted(error: tokio::task::JoinError) -> Error {
    Error::internal("the action was interrupted", error)
}

fn button(button: MouseButton) -> Button {
    match button {
        MouseButton::Left => Button::Left,
        MouseButton::Right => Button::Right,
        MouseButton::Middle => Button::Middle,
    }
}

fn action(input: PerformAction) -> Action {
    let place = |x: Option<f64>, y: Option<f64>| x.zip(y).map(|(x, y)| Point { x, y });
    match input {
        PerformAction::MoveTo { x, y } => Action::MoveTo(Point { x, y }),
        PerformAction::MoveRel { x_offset, y_offset } => {
            Action::MoveBy(Point { x: x_offset, y: y_offset })
        }
        PerformAction::Click { x, y, button: with, num_clicks } => {
            Action::Click { at: place(x, y), button: button(with), count: num_clicks }
        }
        PerformAction::RightClick { x, y } => {
            Action::Click { at: place(x, y), button: Button::Right, count: 1 }
        }
        PerformAction::DoubleClick { x, y } => {
            Action::Click { at: place(x, y), button: Button::Left, count: 2 }
        }
        PerformAction::MouseDown { button: which } => Action::Press(button(which)),
        PerformAction::MouseUp { button: which } => Action::Release(button(which)),
        PerformAction::DragTo { x, y } => Action::DragTo(Point { x, y }),
        PerformAction::DragRel { x_offset, y_offset } => {
            Action::DragBy(Point { x: x_offset, y: y_offset })
        }
        PerformAction::Scroll { dx, dy } => Action::Scroll { dx, dy },
        PerformAction::Typing { text, use_clipboard } => {
            Action::Type { text, paste: use_clipboard.unwrap_or(true) }
        }
        PerformAction::Press { key } => Action::Keys(vec![key]),
        PerformAction::Hotkey { keys } => Action::Keys(keys),
        PerformAction::KeyDown { key } => Action::KeyDown(key),
        PerformAction::KeyUp { key } => Action::KeyUp(key),
        PerformAction::Wait { duration } => {
            Action::Wait(Duration::try_from_secs_f64(duration).unwrap_or_default())
        }
    }
}
