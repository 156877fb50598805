// TypeScript without its types.
'use strict';

const { emitWarning } = process;

/** Types removed; by changing code where they cannot just be blanked out, if this Node can do that. */
function withoutTypes(code) {
  const { stripTypeScriptTypes } = require('module');
  // It warns that it is experimental, in the midst of the program's own output.
  process.emitWarning = () => {};
  try {
    try {
      return stripTypeScriptTypes(code);
    } catch {
      return stripTypeScriptTypes(code, { mode: 'transform' });
    }
  } catch {
    // Fails again, so that the error comes from where it arose.
    return stripTypeScriptTypes(code);
  } finally {
    process.emitWarning = emitWarning;
  }
}

module.exports = { withoutTypes };

//# sourceURL=atoll:types
