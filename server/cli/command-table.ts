import { type CommandRow, exitCode } from './command.ts'
import { targets } from './init/target.ts'
import { printFacts } from './terminal.ts'

/** The commands besides the operations of `core/operator`. The first is the default. */
export const ownCommands: readonly CommandRow[] = [
  {
    usage: 'serve',
    description: 'Serve until SIGINT or SIGTERM (default).',
    json: 'print the ready line as JSON on stdout',
    examples: ['', 'serve --store sqlite:/var/lib/drawbridge/server.db'],
    run: async (input) => (await import('./serve.ts')).serve(input),
  },
  {
    usage: 'init',
    description:
      'Write settings, keys and files for a server into this folder, after looking at the web app and asking for the rest.',
    examples: [
      'init',
      'init --provider supabase --app-url https://app.example.com --base-url https://mcp.example.com --target caddy',
      'init --provider none --yes --json',
    ],
    switches: {
      '--target <place>': `where it will run: ${Object.keys(targets).join(', ')}`,
      '--yes': 'take the defaults instead of asking',
      '--force': 'replace files; keys and tools stay',
    },
    shown: [
      'provider',
      'providerUrl',
      'providerClientId',
      'appUrl',
      'signInUrl',
      'baseUrl',
      'upstream',
      'tools',
    ],
    run: async (input, _operands, options) => (await import('./init/init.ts')).init(input, options),
  },
  {
    usage: 'doctor',
    description: 'Check everything that the server depends on, and say how to fix it. Changes nothing.',
    examples: ['doctor', 'doctor --json'],
    run: async (input) => (await import('./doctor/doctor.ts')).doctor(input),
  },
  {
    usage: 'migrate',
    description: 'Update the schema of the store, as a starting server does.',
    examples: ['migrate', 'migrate --store sqlite:/var/lib/drawbridge/server.db --json'],
    shown: ['store'],
    run: async (input) => (await import('./migrate.ts')).migrate(input),
  },
  {
    usage: 'keys generate',
    description: 'Print a new entry for DRAWBRIDGE_SECRET_KEYS, which is a secret. Changes nothing.',
    examples: ['keys generate', 'keys generate > secret-keys'],
    shown: [],
    async run(input) {
      const { createKeyEntry } = await import('../core/operator/key-rotation.ts')
      const { kid, entry } = createKeyEntry(input.runtime)
      printFacts(input, { kid, entry }, entry)
      return exitCode.ok
    },
  },
  {
    usage: 'texts [language]',
    description:
      'Print the texts of the pages in a language as a file for TEXTS, to change or translate. English if there are none yet.',
    json: 'print it as one line',
    examples: ['texts fr > fr.json', 'texts --json | jq .texts.login'],
    shown: ['texts'],
    run: async (input, [language]) => (await import('./texts.ts')).printTexts(input, language),
  },
]

/** Returns all commands, for help and dispatch. */
export async function readCommandTable(): Promise<readonly CommandRow[]> {
  const { operationCommands } = await import('./operations/operation-command.ts')
  return [...ownCommands, ...operationCommands]
}

export const commandGroups: Readonly<Record<string, string>> = {
  access: 'Test the access rules.',
  clients: 'List, add or remove clients.',
  grants: 'List or end grants: what users allowed clients.',
  keys: 'List, generate, rotate or remove the keys that encrypt the store.',
}
