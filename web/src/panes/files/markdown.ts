// Markdown to HTML. markdown-it with `html: false` makes only elements of its own and refuses `javascript:` and the like
// in addresses, so that nothing has to be cleaned afterwards; the page's policy would run no script anyway.
import MarkdownIt from "markdown-it";

const markdown = new MarkdownIt({ html: false, linkify: false });
const link = markdown.renderer.rules.link_open;

markdown.renderer.rules.link_open = (tokens, index, options, environment, self) => {
  tokens[index]?.attrSet("target", "_blank");
  tokens[index]?.attrSet("rel", "noreferrer noopener");
  return link ? link(tokens, index, options, environment, self) : self.renderToken(tokens, index, options);
};

export function render(text: string): string {
  return markdown.render(text);
}
