// The terminal's colours, to go with the dashboard's.
import type { ITheme } from "@xterm/xterm";

const light: ITheme = {
  background: "#ffffff",
  foreground: "#1c2127",
  cursor: "#0f766e",
  cursorAccent: "#ffffff",
  selectionBackground: "#99f6e480",
  black: "#1c2127",
  red: "#b42318",
  green: "#1a7f37",
  yellow: "#8a6100",
  blue: "#0b5cad",
  magenta: "#86358f",
  cyan: "#0f766e",
  white: "#6b7683",
  brightBlack: "#5f6b7a",
  brightRed: "#d92d20",
  brightGreen: "#2da44e",
  brightYellow: "#a97800",
  brightBlue: "#1b74d1",
  brightMagenta: "#a64cb0",
  brightCyan: "#0d9488",
  brightWhite: "#3d4650",
};

const dark: ITheme = {
  background: "#14181c",
  foreground: "#dfe4e8",
  cursor: "#2dd4bf",
  cursorAccent: "#14181c",
  selectionBackground: "#2dd4bf40",
  black: "#2a3138",
  red: "#f4776a",
  green: "#63c77a",
  yellow: "#dcb75a",
  blue: "#6cb0f5",
  magenta: "#cf8ddb",
  cyan: "#4fd1c5",
  white: "#c6cdd4",
  brightBlack: "#7b8794",
  brightRed: "#ff9d92",
  brightGreen: "#86e29b",
  brightYellow: "#f2d27f",
  brightBlue: "#95c9ff",
  brightMagenta: "#e6b1ee",
  brightCyan: "#7fe9df",
  brightWhite: "#ffffff",
};

export function colours(isDark: boolean): ITheme {
  return isDark ? dark : light;
}
