import type { CommandRow } from '../command.ts'

/** A login as `status`, `login` and `token` show it. */
const loginMembers = {
  server: 'URL of the server',
  profile: 'name that keeps several logins apart',
  state: '"signed_in" or "sign_in_needed"',
  issuer: 'the authorization server',
  client_id: 'how the bridge is known there',
  account: 'who signed in, as the tokens say; null if they do not',
  scope: 'what was granted; null if unknown',
  signed_in_at: 'epoch seconds',
  expires_at: 'end of the access token in epoch seconds; null if unknown',
  renews: 'whether it is renewed without a person',
  reason: 'why a sign-in is needed; null if it is not',
} as const

/** An entry as `install` and `uninstall` show it. */
const entryMembers = {
  client: 'as it was given',
  name: 'of the entry',
  file: 'of the client',
  command: 'the command of the client that made the change, as a list of words; null if there was none',
  backup: 'copy of the file before the change; null if it was not written here',
} as const

/** Every command but the default one, which connects. Help, dispatch and documentation come from here. */
export const commandTable: readonly CommandRow[] = [
  {
    usage: 'login <url> [port]',
    description: 'Sign in now, before any client asks for it.',
    group: 'Sign-in',
    examples: [
      'login https://mcp.example.com/mcp',
      'login https://mcp.example.com/mcp --device-code',
      'login https://mcp.example.com/mcp --force --profile work',
    ],
    switches: { '--force': 'even with a valid login' },
    json: {
      ok: 'whether there is a login now',
      did: '"signed_in", "already_signed_in" or "not_needed"',
      ...loginMembers,
    },
    run: async (input) => (await import('../login/login.ts')).login(input),
  },
  {
    usage: 'logout [url]',
    description: 'Revoke the tokens of a login at its server, and remove it.',
    group: 'Sign-in',
    examples: ['logout https://mcp.example.com/mcp', 'logout --all'],
    switches: { '--all': 'every stored login' },
    json: {
      ok: 'whether every selected login is removed',
      logins:
        'list: id, server and profile (null if unreadable), found, readable, revoked (null if the server cannot), kept (why it is still stored; null if it is not)',
    },
    run: async (input) => (await import('../login/logout.ts')).logout(input),
  },
  {
    usage: 'status [url]',
    description:
      'Print the stored logins: server, account, issuer, scope, end, and what to run. Makes no network request.',
    group: 'Looking',
    examples: ['status', 'status https://mcp.example.com/mcp --json'],
    json: {
      ok: 'whether every selected login exists and works',
      home: 'folder of the bridge',
      key: 'where the key of the logins is: "keychain", "file", "environment", "memory", or null before the first',
      logins: `list: ${Object.keys(loginMembers).join(', ')}, next_step`,
      unreadable: 'list of unreadable logins: id, file, code, reason, next_step',
    },
    run: async (input) => (await import('../login/status.ts')).status(input),
  },
  {
    usage: 'token <url>',
    description: 'Say how long the access token of a login lasts; with --show print it.',
    group: 'Sign-in',
    examples: [
      'token https://mcp.example.com/mcp',
      'curl -H "Authorization: Bearer $(drawbridge token https://mcp.example.com/mcp --show)" ...',
    ],
    switches: { '--show': 'print the token itself on stdout: anyone who has it can call the server' },
    json: {
      ok: 'whether there is a token',
      server: 'URL of the server',
      expires_at: 'epoch seconds; null if unknown',
      expires_in: 'seconds from now; null if unknown',
      scope: 'what was granted; null if unknown',
      token: 'the token, with --show only',
    },
    run: async (input) => (await import('../login/token.ts')).printToken(input),
  },
  {
    usage: 'token set <url>',
    description: 'Store an access token from stdin, such as one that the browser extension copied.',
    group: 'Sign-in',
    examples: ['token set https://mcp.example.com/mcp < token.txt'],
    json: {
      ok: 'whether it is stored',
      server: 'URL of the server',
      expires_at: 'epoch seconds; null if the token does not say',
      expires_in: 'seconds from now; null if the token does not say',
    },
    run: async (input) => (await import('../login/token.ts')).setToken(input),
  },
  {
    usage: 'doctor <url>',
    description: 'Check everything that a connection depends on, and say what to do. Changes nothing.',
    group: 'Looking',
    examples: [
      'doctor https://mcp.example.com/mcp',
      'doctor https://mcp.example.com/mcp --json',
      'doctor https://mcp.example.com/mcp --trace',
    ],
    switches: {
      '--trace': 'only print the steps of a connection, with the ids that the operator can find in the log',
    },
    json: {
      ok: 'whether nothing failed',
      checks: 'list: name (stable), state ("ok", "warn" or "fail"), message, fix',
      settings: 'names of the settings by where they were set: flag, variable, file',
      url: 'with --trace, in place of all above: URL of the server, without its query',
      result: 'with --trace: "connected", "failed" or "not signed in"',
      steps:
        'with --trace, list: step (as in drawbridge-server attempts), at (epoch seconds), status (null without a response), ok, request_id (X-Request-Id; null without), duration_ms, detail (of a step that failed)',
      advice: 'with --trace: what to do next; null if there is nothing',
    },
    run: async (input) =>
      input.options.trace
        ? (await import('../doctor/trace.ts')).trace(input)
        : (await import('../doctor/doctor.ts')).doctor(input),
  },
  {
    usage: 'install <client> <url> [port]',
    description:
      "Add the bridge for a server to a client, with the client's own command if it has one, or else in its JSON file. Shows the change first. Alone it lists the clients.",
    group: 'Setting up',
    examples: [
      'install cursor https://mcp.example.com/mcp',
      'install codex https://mcp.example.com/mcp --name work --profile work',
      'install vscode https://mcp.example.com/mcp --project',
      'install claude-desktop https://mcp.example.com/mcp --print',
    ],
    switches: {
      '--name <name>': 'name of the entry (default: derived from the host)',
      '--project': 'the file of the project in this folder, not of the user',
      '--print': 'only print what to paste',
      '--dry-run': 'only print the change',
      '--yes': 'do not ask; never prompts without a terminal',
      '--force': 'replace another entry of that name; install from a temporary folder',
    },
    json: {
      ok: 'whether the entry is there now, or was shown',
      did: '"added", "updated", "replaced", "unchanged", "declined", "planned" (--dry-run), "printed" (--print) or "manual" (the file is TOML or has comments: paste the snippet)',
      ...entryMembers,
      entry: 'the entry itself',
      snippet: 'text to paste, if "printed" or "manual"; else null',
      clients: 'without a client, in place of all above but ok: list of id and title',
    },
    run: async (input) => (await import('../install/install.ts')).install(input),
  },
  {
    usage: 'uninstall <client> [url]',
    description: 'Remove the entry of the bridge from a client. Touches no other entry, and keeps the login.',
    group: 'Setting up',
    examples: [
      'uninstall cursor',
      'uninstall codex https://mcp.example.com/mcp',
      'uninstall vscode --name work --project',
    ],
    switches: {
      '--name <name>': 'which entry, if there are several of ours',
      '--project': 'the file of the project in this folder, not of the user',
      '--dry-run': 'only print the change',
      '--yes': 'do not ask; never prompts without a terminal',
    },
    json: {
      ok: 'whether the entry is gone, or the change was shown',
      did: '"removed", "declined", "planned" (--dry-run) or "manual" (the file has comments: remove it by hand)',
      ...entryMembers,
    },
    run: async (input) => (await import('../install/install.ts')).uninstall(input),
  },
]
