//! What can be done with mouse and keyboard.

use atoll_operation::{Operation, Spec};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use super::ACTION;
use crate::browser::MouseButton;

/// Use mouse or keyboard of the desktop.
///
/// Positions are pixels of the screenshot. Keys go by the names of pyautogui (`ctrl`, `pageup`), of web pages (`Control`,
/// `PageUp`) and of X (`Control_L`, `Prior`).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "action_type", rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(transform = as_one_object)]
pub enum PerformAction {
    /// Move the pointer.
    MoveTo {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
    },
    /// Move the pointer from where it is.
    MoveRel {
        /// Pixels to the right.
        x_offset: f64,
        /// Pixels down.
        y_offset: f64,
    },
    /// Click, at a position or where the pointer is.
    Click {
        /// Pixels from the left.
        #[serde(default)]
        x: Option<f64>,
        /// Pixels from the top.
        #[serde(default)]
        y: Option<f64>,
        /// The button.
        #[serde(default)]
        button: MouseButton,
        /// How often, from 1 to 3.
        #[serde(default = "once")]
        #[schemars(range(min = 1, max = 3))]
        num_clicks: u8,
    },
    /// Press a button of the mouse and hold it.
    MouseDown {
        /// The button.
        #[serde(default)]
        button: MouseButton,
    },
    /// Let go of a button of the mouse.
    MouseUp {
        /// The button.
        #[serde(default)]
        button: MouseButton,
    },
    /// Click with the right button.
    RightClick {
        /// Pixels from the left.
        #[serde(default)]
        x: Option<f64>,
        /// Pixels from the top.
        #[serde(default)]
        y: Option<f64>,
    },
    /// Click twice.
    DoubleClick {
        /// Pixels from the left.
        #[serde(default)]
        x: Option<f64>,
        /// Pixels from the top.
        #[serde(default)]
        y: Option<f64>,
    },
    /// Drag from where the pointer is: with the button that is held, or else with the left one for this movement.
    DragTo {
        /// Pixels from the left.
        x: f64,
        /// Pixels from the top.
        y: f64,
    },
    /// The same by a distance.
    DragRel {
        /// Pixels to the right.
        x_offset: f64,
        /// Pixels down.
        y_offset: f64,
    },
    /// Turn the wheel where the pointer is: clicks of the wheel, positive up and to the left. More than 50 either way are
    /// taken as pixels.
    Scroll {
        /// To the left.
        #[serde(default)]
        dx: i64,
        /// Up.
        #[serde(default)]
        dy: i64,
    },
    /// Write a text where the keyboard is. A new line presses Enter.
    Typing {
        /// The text.
        #[schemars(length(min = 1, max = 1_000_000))]
        text: String,
        /// Whether characters that are on no key, and long texts, may be pasted; typed key by key otherwise.
        #[serde(default = "yes")]
        use_clipboard: Option<bool>,
    },
    /// Press and let go of a key.
    Press {
        /// The key.
        key: String,
    },
    /// Press a key and hold it.
    KeyDown {
        /// The key.
        key: String,
    },
    /// Let go of a key.
    KeyUp {
        /// The key.
        key: String,
    },
    /// Press keys together.
    Hotkey {
        /// The keys, modifiers first.
        #[schemars(length(min = 1, max = 16))]
        keys: Vec<String>,
    },
    /// Wait.
    Wait {
        /// Seconds, up to 600.
        #[schemars(extend("exclusiveMinimum" = 0), range(max = 600))]
        duration: f64,
    },
}

fn once() -> u8 {
    1
}

#[expect(clippy::unnecessary_wraps, reason = "the field may be null")]
fn yes() -> Option<bool> {
    Some(true)
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ActionData")]
pub struct ActionOutcome {
    /// That it was performed.
    pub status: ActionStatus,
    /// The action.
    pub action_performed: String,
}

/// That an action was performed; one that was not is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ActionStatus {
    /// It was.
    Success,
}

impl Operation for PerformAction {
    type Output = ActionOutcome;
    const SPEC: Spec = Spec::post("desktop_action", "/v1/browser/actions", "desktop:write")
        .sdk("browser", "execute_action")
        .errors(ACTION);
}

impl PerformAction {
    /// Its name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::MoveTo { .. } => "MOVE_TO",
            Self::MoveRel { .. } => "MOVE_REL",
            Self::Click { .. } => "CLICK",
            Self::MouseDown { .. } => "MOUSE_DOWN",
            Self::MouseUp { .. } => "MOUSE_UP",
            Self::RightClick { .. } => "RIGHT_CLICK",
            Self::DoubleClick { .. } => "DOUBLE_CLICK",
            Self::DragTo { .. } => "DRAG_TO",
            Self::DragRel { .. } => "DRAG_REL",
            Self::Scroll { .. } => "SCROLL",
            Self::Typing { .. } => "TYPING",
            Self::Press { .. } => "PRESS",
            Self::KeyDown { .. } => "KEY_DOWN",
            Self::KeyUp { .. } => "KEY_UP",
            Self::Hotkey { .. } => "HOTKEY",
            Self::Wait { .. } => "WAIT",
        }
    }
}

/// Every field of every action: read as one object, so that a mistake is told with the field it is in.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Fields {
    action_type: String,
    x: Option<f64>,
    y: Option<f64>,
    x_offset: Option<f64>,
    y_offset: Option<f64>,
    button: Option<MouseButton>,
    num_clicks: Option<u8>,
    dx: Option<i64>,
    dy: Option<i64>,
    text: Option<String>,
    use_clipboard: Option<bool>,
    key: Option<String>,
    keys: Option<Vec<String>>,
    duration: Option<f64>,
}

impl<'de> Deserialize<'de> for PerformAction {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(deserializer)?;
        Self::read(fields).map_err(serde::de::Error::custom)
    }
}

impl PerformAction {
    fn read(fields: Fields) -> Result<Self, String> {
        fn given<T>(action: &str, name: &str, field: Option<T>) -> Result<T, String> {
            field.ok_or_else(|| format!("{action} needs `{name}`"))
        }
        let name = fields.action_type.to_ascii_uppercase();
        let name = name.as_str();
        let Fields { x, y, x_offset, y_offset, dx, dy, text, key, keys, .. } = fields;
        let button = fields.button.unwrap_or_default();
        if x.is_some() != y.is_some() {
            return Err(format!("{name} needs both `x` and `y`, or neither"));
        }
        let place = |x, y| Ok::<_, String>((given(name, "x", x)?, given(name, "y", y)?));
        let offset =
            |x, y| Ok::<_, String>((given(name, "x_offset", x)?, given(name, "y_offset", y)?));
        Ok(match name {
            "MOVE_TO" => place(x, y).map(|(x, y)| Self::MoveTo { x, y })?,
            "DRAG_TO" => place(x, y).map(|(x, y)| Self::DragTo { x, y })?,
            "MOVE_REL" => {
                let (x_offset, y_offset) = offset(x_offset, y_offset)?;
                Self::MoveRel { x_offset, y_offset }
            }
            "DRAG_REL" => {
                let (x_offset, y_offset) = offset(x_offset, y_offset)?;
                Self::DragRel { x_offset, y_offset }
            }
            "CLICK" => {
                let num_clicks = fields.num_clicks.unwrap_or(1);
                if !(1..=3).contains(&num_clicks) {
                    return Err("`num_clicks` must be 1, 2 or 3".to_owned());
                }
                Self::Click { x, y, button, num_clicks }
            }
            "MOUSE_DOWN" => Self::MouseDown { button },
            "MOUSE_UP" => Self::MouseUp { button },
            "RIGHT_CLICK" => Self::RightClick { x, y },
            "DOUBLE_CLICK" => Self::DoubleClick { x, y },
            "SCROLL" => Self::Scroll { dx: dx.unwrap_or_default(), dy: dy.unwrap_or_default() },
            "TYPING" => {
                let text = given(name, "text", text.filter(|text| !text.is_empty()))?;
                Self::Typing { text, use_clipboard: fields.use_clipboard.or(Some(true)) }
            }
            "PRESS" => Self::Press { key: given(name, "key", key)? },
            "KEY_DOWN" => Self::KeyDown { key: given(name, "key", key)? },
            "KEY_UP" => Self::KeyUp { key: given(name, "key", key)? },
            "HOTKEY" => {
                let keys = given(name, "keys", keys.filter(|keys| !keys.is_empty()))?;
                if keys.len() > 16 {
                    return Err("`keys` must not be more than 16".to_owned());
                }
                Self::Hotkey { keys }
            }
            "WAIT" => {
                let duration = given(name, "duration", fields.duration)?;
                if !(duration > 0.0 && duration <= 600.0) {
                    return Err("`duration` must be more than 0 and at most 600 seconds".to_owned());
                }
                Self::Wait { duration }
            }
            "" => return Err("`action_type` is required".to_owned()),
            _ => return Err(format!("there is no `action_type` {:?}", fields.action_type)),
        })
    }
}

/// Describes the alternatives as they are published, and beside them every field, as one object has them.
fn as_one_object(schema: &mut Schema) {
    let Some(alternatives) = schema.get_mut("oneOf").and_then(Value::as_array_mut) else { return };
    let mut all = Map::new();
    let mut names = Vec::new();
    for alternative in alternatives {
        if let Some(required) = alternative["required"].as_array_mut() {
            required.retain(|name| name != "action_type");
        }
        let Some(fields) = alternative["properties"].as_object_mut() else { continue };
        if let Some(kind) = fields.get_mut("action_type") {
            let name = kind["const"].clone();
            kind["default"] = name.clone();
            kind["description"] = json!("The action.");
            names.push(name);
        }
        for (name, field) in fields.iter() {
            all.entry(name).or_insert_with(|| {
                let mut field = field.clone();
                if let Some(field) = field.as_object_mut() {
                    field.remove("default");
                }
                field
            });
        }
    }
    let kinds = json!({"type": "string", "enum": names, "description": "The action."});
    all.insert("action_type".to_owned(), kinds);
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(all));
    schema.insert("required".to_owned(), json!(["action_type"]));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_read_leniently_and_mistakes_are_named() {
        let read = |value: Value| serde_json::from_value::<PerformAction>(value);
        let click = read(json!({"action_type": "click", "x": 1, "y": 2.5, "button": null}));
        let expected = PerformAction::Click {
            x: Some(1.0),
            y: Some(2.5),
            button: MouseButton::Left,
            num_clicks: 1,
        };
        assert_eq!(click.unwrap(), expected);
        for (value, named) in [
            (json!({}), "action_type"),
            (json!({"action_type": "FLY"}), "FLY"),
            (json!({"action_type": "MOVE_TO", "y": 1}), "`x`"),
            (json!({"action_type": "CLICK", "x": 1}), "`y`"),
            (json!({"action_type": "CLICK", "num_clicks": 4}), "num_clicks"),
            (json!({"action_type": "HOTKEY", "keys": []}), "keys"),
            (json!({"action_type": "TYPING", "text": ""}), "text"),
            (json!({"action_type": "WAIT", "duration": -1}), "duration"),
        ] {
            let error = read(value.clone()).unwrap_err().to_string();
            assert!(error.contains(named), "{value}: {error}");
        }
    }

    #[test]
    fn an_action_is_written_as_it_is_read() {
        let action = PerformAction::Typing { text: "a".to_owned(), use_clipboard: Some(false) };
        let value = serde_json::to_value(&action).unwrap();
        assert_eq!(value["action_type"], "TYPING");
        assert_eq!(serde_json::from_value::<PerformAction>(value).unwrap(), action);
    }
}
