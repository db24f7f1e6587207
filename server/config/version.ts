import manifest from '../package.json' with { type: 'json' }

/** Version of this server, as in its manifest. */
export const version: string = manifest.version
