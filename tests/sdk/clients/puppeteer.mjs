// Drives a browser that runs with Puppeteer, and prints what it saw.
//
//   PACKAGES=…/node_modules node puppeteer.mjs socket|base ENDPOINT PAGE

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const found = createRequire(join(process.env.PACKAGES, "x")).resolve("puppeteer-core");
const { default: puppeteer } = await import(pathToFileURL(found).href);

const [form, endpoint, address] = process.argv.slice(2);
const where = form === "socket" ? { browserWSEndpoint: endpoint } : { browserURL: endpoint };
const browser = await puppeteer.connect({ ...where, defaultViewport: null });
const known = await Promise.all((await browser.pages()).map((page) => page.title()));

const context = await browser.createBrowserContext();
const page = await context.newPage();
const asked = [];
await page.setRequestInterception(true);
page.on("request", (request) => {
  asked.push(request.url());
  if (request.url().endsWith("/made-up")) request.respond({ status: 200, body: "ours" });
  else request.continue();
});
const answer = await page.goto(address);
await page.type("#name", "Zoë");
await page.select("#size", "m");
await page.click("#send");
await page.waitForFunction(() => document.querySelector("#log").textContent !== "");
const said = await page.$eval("#log", (element) => element.textContent);
const fetched = await page.evaluate(() => fetch("/made-up").then((response) => response.text()));
const picture = await page.screenshot();
await page.setCookie({ name: "theirs", value: "1", url: address });
const cookies = await page.evaluate(() => document.cookie);
await context.close();
await browser.disconnect();

console.log(
  JSON.stringify({
    status: answer.status(),
    known,
    said,
    fetched,
    asked,
    cookies,
    picture: Buffer.from(picture).subarray(1, 4).toString(),
  }),
);
