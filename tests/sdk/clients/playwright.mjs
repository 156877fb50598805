// Drives a browser that runs with Playwright, and prints what it saw.
//
//   PACKAGES=…/node_modules node playwright.mjs ENDPOINT PAGE

import { createRequire } from "node:module";
import { join } from "node:path";

const { chromium } = createRequire(join(process.env.PACKAGES, "x"))("playwright-core");

const [endpoint, address] = process.argv.slice(2);
const browser = await chromium.connectOverCDP(endpoint);
const known = await Promise.all(browser.contexts().flatMap((context) => context.pages().map((page) => page.title())));

const context = await browser.newContext();
const page = await context.newPage();
const asked = [];
page.on("request", (request) => asked.push(request.url()));
await page.route("**/made-up", (route) => route.fulfill({ status: 200, body: "ours" }));
const answer = await page.goto(address);
await page.getByLabel("Your name").fill("Zoë");
await page.selectOption("#size", "m");
await page.getByRole("button", { name: "Send order" }).click();
const said = await page.locator("#log").innerText();
const fetched = await page.evaluate(() => fetch("/made-up").then((response) => response.text()));
const picture = await page.screenshot();
await context.addCookies([{ name: "theirs", value: "1", url: address }]);
const cookies = await page.evaluate(() => document.cookie);
await context.close();
await browser.close();

console.log(
  JSON.stringify({ status: answer.status(), known, said, fetched, asked, cookies, picture: picture.subarray(1, 4).toString() }),
);
