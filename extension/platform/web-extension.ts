import polyfill from 'webextension-polyfill'

/** The browser's own interface, with promises in every browser. The only import of the polyfill, see `build-plugins.ts`. */
export const webExtension: typeof polyfill = polyfill
