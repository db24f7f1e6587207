/**
 * What to do with the first way to add a server to each client: where the text belongs, and the next step. `{name}` is the server's
 * name as one word of a shell, `{bridge}` says how to get the bridge. Commands and names to type are in backticks.
 */
export const clientTexts = {
  claude: {
    place: 'Settings > Connectors > Add custom connector',
    next: 'Paste this address, add it, choose Connect and sign in.',
  },
  chatgpt: {
    place: 'Settings > Apps > Advanced settings',
    next: 'Turn on Developer mode and choose Create app. Paste this address as the MCP server URL, choose OAuth and sign in.',
  },
  'claude-code': { next: 'Then run `claude mcp login {name}` and sign in.' },
  codex: { next: 'A browser opens: sign in there.' },
  gemini: { next: 'Then start Gemini CLI, type `/mcp auth {name}` and sign in.' },
  opencode: { next: 'Then run `opencode mcp auth {name}` and sign in.' },
  zed: {
    place: '`settings.json`, which the command “zed: open settings file” opens',
    next: 'Zed asks you to sign in.',
  },
  windsurf: {
    place:
      '`~/.codeium/windsurf/mcp_config.json` (on Windows `%USERPROFILE%\\.codeium\\windsurf\\mcp_config.json`)',
    next: 'Refresh the list of MCP servers in Cascade and sign in.',
  },
  inspector: { next: 'Open the address that it prints, connect and sign in.' },
  'claude-desktop': {
    place: '`claude_desktop_config.json`, which Settings > Developer > Edit Config opens',
    next: 'Quit Claude Desktop and start it again. A browser opens: sign in there. {bridge}',
  },
  stdio: {
    name: 'Other stdio clients',
    place: 'the command of an MCP server',
    next: 'A browser opens when the client starts it: sign in there. {bridge}',
  },
} as const

/** How to get the bridge, before and after its release on npm. Commands are in backticks. */
export const bridgeTexts = {
  published: 'This way needs Node.js.',
  unpublished:
    'This way needs Node.js and the bridge; to install it in a clone of Drawbridge, run `npm ci`, `npm pack -w bridge` and `npm install --global ./mcp-drawbridge-0.1.0.tgz`.',
} as const

/** A client with texts. */
export type TextedClient = keyof typeof clientTexts
