import type { Plugin } from 'vite'

/**
 * Leaves webextension-polyfill out of the packages: in every browser that the manifest admits it has nothing to do. Firefox
 * has the interface with promises itself, and so has Chromium, as `browser` in later releases and as `chrome` in all from
 * 127 on; the polyfill hands over the one and wraps the other. That would be 10 kB of the popup. Without this plugin the
 * extension works the same.
 */
export function nativeInterface(): Plugin {
  return {
    name: 'drawbridge:native-interface',
    enforce: 'pre',
    load: {
      filter: { id: /webextension-polyfill\/dist\/browser-polyfill\.js$/ },
      handler: () => 'export default globalThis.browser ?? globalThis.chrome',
    },
  }
}

/** Parts that are imported later need no preparation: they lie beside the others, on this computer. */
export function plainDynamicImports(): Plugin {
  return {
    name: 'drawbridge:plain-dynamic-imports',
    enforce: 'pre',
    load: {
      filter: { id: /vite\/preload-helper\.js$/ },
      handler: () => 'export const __vitePreload = (load) => load()',
    },
  }
}
