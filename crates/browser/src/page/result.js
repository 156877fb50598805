// Runs code and turns what it comes to into plain JSON that says what it was:
// undefined → null; NaN and infinities → text; a BigInt → a number where that is exact, else text; dates → ISO text;
// errors → {name, message, stack}; maps → an object or pairs; sets and lists of any kind → arrays; elements → their
// opening tag; functions, symbols, windows → text in brackets; what contains itself → "[Circular]".
// A function is called. Answers {value}, or {thrown}, or {tooLarge: true}.
async (code, max, depthMax) => {
  const tooLarge = {};
  let left = max;
  const spend = (count) => {
    left -= count;
    if (left < 0) throw tooLarge;
  };
  const above = new Set();
  const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
  const isNode = (value) => typeof value.nodeType === 'number' && typeof value.nodeName === 'string';
  const shown = (node) => {
    if (node.nodeType === 1) {
      const copy = node.cloneNode(false).outerHTML;
      const end = copy.lastIndexOf('</');
      return end > 0 ? copy.slice(0, end) : copy;
    }
    if (node.nodeType === 9) return `[Document ${node.URL}]`;
    return node.nodeType === 3 ? `[Text ${JSON.stringify(node.data)}]` : `[${node.nodeName}]`;
  };
  const list = (values, depth) => {
    spend(values.length);
    return Array.from(values, (value) => plain(value, depth + 1));
  };
  const plain = (value, depth) => {
    spend(1);
    switch (typeof value) {
      case 'undefined': return null;
      case 'boolean': return value;
      case 'string': spend(value.length); return value;
      case 'number': return Number.isFinite(value) ? value : String(value);
      case 'bigint': return BigInt.asIntN(53, value) === value ? Number(value) : String(value);
      case 'symbol': return `[${String(value)}]`;
      case 'function': return `[Function ${value.name || 'anonymous'}]`;
    }
    if (value === null) return null;
    if (above.has(value)) return '[Circular]';
    if (depth >= depthMax) return '[Too deep]';
    let kind;
    try {
      kind = tag(value);
      if (kind === 'Window' || value.window === value) return '[Window]';
      if (isNode(value)) {
        const text = shown(value);
        spend(text.length);
        return text;
      }
    } catch {
      return '[Not accessible]';
    }
    above.add(value);
    try {
      if (kind === 'Date') return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString();
      if (kind === 'RegExp') return String(value);
      if (kind === 'Error' || kind === 'DOMException' || value instanceof Error) return failure(value);
      if (kind === 'Map') {
        const pairs = Array.from(value);
        if (!pairs.every(([key]) => typeof key === 'string')) return list(pairs, depth);
        const result = Object.create(null);
        for (const [key, item] of pairs) result[key] = plain(item, depth + 1);
        return result;
      }
      if (kind === 'Set') return list(Array.from(value), depth);
      if (kind === 'ArrayBuffer') return list(new Uint8Array(value), depth);
      if (Array.isArray(value) || (ArrayBuffer.isView(value) && 'length' in value)) return list(value, depth);
      if (typeof value.toJSON === 'function') return plain(value.toJSON(''), depth + 1);
      if (typeof value.length === 'number' && typeof value[Symbol.iterator] === 'function') return list(value, depth);
      const keys = Object.keys(value);
      const prototype = Object.getPrototypeOf(value);
      if (keys.length === 0 && kind !== 'Object' && prototype !== null) return `[${kind}]`;
      spend(keys.length);
      const result = Object.create(null);
      for (const key of keys) {
        spend(key.length);
        let item;
        try {
          item = value[key];
        } catch (error) {
          item = `[Threw ${error}]`;
        }
        result[key] = plain(item, depth + 1);
      }
      return result;
    } finally {
      above.delete(value);
    }
  };
  const failure = (error) => {
    const text = (value) => {
      try {
        return value === undefined || value === null ? '' : String(value).slice(0, 20000);
      } catch {
        return '';
      }
    };
    return { name: text(error.name), message: text(error.message), stack: text(error.stack) };
  };
  try {
    let value = code();
    value = await value;
    if (typeof value === 'function') value = await value();
    return { value: plain(value, 0) };
  } catch (error) {
    if (error === tooLarge) return { tooLarge: true };
    if (error && typeof error === 'object' && 'message' in error) return { thrown: failure(error) };
    left = max;
    above.clear();
    let message = 'something that cannot be shown';
    try {
      const value = plain(error, 0);
      message = typeof value === 'string' ? value : JSON.stringify(value);
    } catch {}
    return { thrown: { name: '', message, stack: '' } };
  }
}
