import manifest from '../package.json' with { type: 'json' }

/** Version of this bridge, as in its manifest. */
export const version: string = manifest.version
