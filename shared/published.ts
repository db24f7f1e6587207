/** Set when the packages are released on npm. Until then, their names there may belong to someone else. */
const isPublished = false as boolean

/** Command that starts the bridge: its installed name, or npx once npm has it. */
export const bridgeWords: readonly [string, ...string[]] = isPublished
  ? ['npx', '-y', 'mcp-drawbridge']
  : ['drawbridge']

/** Command that installs the bridge; in a clone of the repository until npm has it. */
export const installBridge: string = isPublished
  ? 'npm install --global mcp-drawbridge'
  : 'npm ci && npm pack -w bridge && npm install --global ./mcp-drawbridge-0.1.0.tgz'

/** Which sentence says how to get the bridge. */
export const bridgeNeeds: 'published' | 'unpublished' = isPublished ? 'published' : 'unpublished'
