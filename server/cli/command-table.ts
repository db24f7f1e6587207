import type { Setting } from '../config/setting-table.ts'
import type { CommandInput, CommandOptions, ExitCode } from './command.ts'

export interface CommandRow {
  /** With its operands: `keys remove <kid...>`, `grants revoke [grant-id]`. */
  usage: string
  description: string
  /** Help text of `--json`. */
  json: string
  /** Without the name of the program. */
  examples: readonly string[]
  /** Its own flags with their help: `--all` is on or off, `--user <sub>` takes a value. */
  switches?: Readonly<Record<`--${string}`, string>>
  /** Settings in its help. It accepts all of them: a configuration is only ever checked as a whole. */
  shown?: readonly Setting['field'][]
  /** Loads the code of the command: serving does not wait for that of the others. */
  run(input: CommandInput, operands: readonly string[], options: CommandOptions): Promise<ExitCode>
}

const factsAsJson = 'print the facts as one JSON object on stdout'

/** All commands, for help and dispatch. The first is the default. */
export const commandTable: readonly CommandRow[] = [
  {
    usage: 'serve',
    description: 'Serve until SIGINT or SIGTERM (default).',
    json: 'print the ready line as JSON on stdout',
    examples: ['', 'serve --store sqlite:/var/lib/drawbridge/server.db'],
    run: async (input) => (await import('./serve.ts')).serve(input),
  },
  {
    usage: 'doctor',
    description: 'Look at everything that serving depends on, and say what to do. Changes nothing.',
    json: factsAsJson,
    examples: ['doctor', 'doctor --json'],
    run: async (input) => (await import('./doctor/doctor.ts')).doctor(input),
  },
  {
    usage: 'migrate',
    description: 'Bring the schema of the store up to date, as the start of a server does.',
    json: factsAsJson,
    examples: ['migrate', 'migrate --store sqlite:/var/lib/drawbridge/server.db --json'],
    shown: ['store'],
    run: async (input) => (await import('./migrate.ts')).migrate(input),
  },
  {
    usage: 'keys list',
    description: 'Print the keys that seal what is stored, and what depends on each.',
    json: factsAsJson,
    examples: ['keys list', 'keys list --json'],
    shown: ['store'],
    run: async (input) => (await import('./keys/keys-list.ts')).listKeys(input),
  },
  {
    usage: 'keys generate',
    description: 'Print one new entry for DRAWBRIDGE_SECRET_KEYS. It is a secret; nothing is changed.',
    json: factsAsJson,
    examples: ['keys generate', 'keys generate > secret-keys'],
    shown: [],
    run: async (input) => (await import('./keys/keys-list.ts')).generateKey(input),
  },
  {
    usage: 'keys rotate',
    description: 'Put a new key in front of the key file, and seal all sessions anew beside running servers.',
    json: factsAsJson,
    examples: ['keys rotate'],
    shown: ['store'],
    async run(input) {
      const { rotateKeys } = await import('./keys/keys-rotate.ts')
      let isStopped = false
      process.once('SIGINT', () => (isStopped = true))
      return rotateKeys(input, () => isStopped)
    },
  },
  {
    usage: 'keys remove <kid...>',
    description: 'Take keys out of the key file that nothing needs any more.',
    json: factsAsJson,
    examples: ['keys remove k20260101-0a1b2c'],
    shown: ['store'],
    run: async (input, operands) => (await import('./keys/keys-remove.ts')).removeKeys(input, operands),
  },
  {
    usage: 'grants list',
    description: 'Print who is connected with which client, since when, and when it was used last.',
    json: factsAsJson,
    examples: [
      'grants list',
      'grants list --user 8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b',
      'grants list --user ada@example.com',
      'grants list --client mcpc_Zm9vYmFyYmF6cXV4 --all --json',
    ],
    switches: {
      '--user <sub-or-email>':
        'only of the person with that id at the session provider, or of everybody with that email address',
      '--client <id>': 'only of that client',
      '--all': 'also those that have ended',
    },
    shown: ['store', 'provider', 'providerUrl'],
    run: async (input, _operands, options) => (await import('./grants/grants.ts')).listGrants(input, options),
  },
  {
    usage: 'grants revoke [grant-id]',
    description:
      'End grants: those people have to sign in again. Running servers refuse their tokens at once.',
    json: factsAsJson,
    examples: [
      'grants revoke 6xHcP2uT0mVd8QkZr1yWbA',
      'grants revoke --user 8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b --yes',
      'grants revoke --user ada@example.com --yes',
      'grants revoke --client mcpc_Zm9vYmFyYmF6cXV4 --yes',
    ],
    switches: {
      '--user <sub-or-email>':
        'all of the person with that id at the session provider, or of everybody with that email address',
      '--client <id>': 'all of that client',
      '--yes': 'also when it is more than one',
    },
    shown: ['store', 'provider', 'providerUrl'],
    run: async (input, [grantId], options) =>
      (await import('./grants/grants.ts')).revokeGrants(input, grantId, options),
  },
  {
    usage: 'attempts',
    description:
      'Print what clients did to connect in the last day, step by step, and what to look at if they failed.',
    json: 'print the attempts as one JSON array on stdout; with --follow one object a line',
    examples: [
      'attempts',
      'attempts --failed',
      'attempts --request 0oBbYz3mQkq1f2Xc',
      'attempts --client Claude --follow',
    ],
    switches: {
      '--failed': 'only those that failed',
      '--client <id-or-name>': 'only of clients with this id, or with this in their name',
      '--request <id>': 'only the one with this request id: error pages and the header X-Request-Id have it',
      '--follow': 'print each attempt once it is decided, until interrupted',
    },
    shown: ['store', 'clients'],
    async run(input, _operands, options) {
      const { printAttempts } = await import('./attempts.ts')
      let isStopped = false
      process.once('SIGINT', () => (isStopped = true))
      return printAttempts(input, options, () => isStopped)
    },
  },
  {
    usage: 'access test',
    description: 'Say which access rule decides about a person, and what it allows.',
    json: factsAsJson,
    examples: [
      'access test --email ada@example.com',
      `access test --sub 8f14e45f-ceea-467f-a0e6-1c2d3e4f5a6b --claims '{"app_metadata":{"role":"partner"}}' --json`,
    ],
    switches: {
      '--email <address>': 'the email address, which counts as verified',
      '--unverified': 'the address is not verified',
      '--sub <sub>': 'the id at the session provider',
      '--signs-in-with <name>': 'how the account signs in, such as google',
      '--claims <json>': 'the claims, as a JSON object',
    },
    shown: ['access', 'provider', 'providerUrl'],
    run: async (input, _operands, options) =>
      (await import('./access/access-test.ts')).testAccess(input, options),
  },
  {
    usage: 'texts [language]',
    description:
      'Print the texts of the pages in a language as a file for TEXTS, to change or to translate. English where there is none yet.',
    json: 'print it as one line',
    examples: ['texts fr > fr.json', 'texts --json | jq .texts.login'],
    shown: ['texts'],
    run: async (input, [language]) => (await import('./texts.ts')).printTexts(input, language),
  },
  {
    usage: 'clients list',
    description: 'Print the clients that are known: of the file CLIENTS, and of the store.',
    json: factsAsJson,
    examples: ['clients list', 'clients list --all --json'],
    switches: { '--all': 'include registrations that were never used to sign in' },
    shown: ['store', 'clients'],
    run: async (input, _operands, options) =>
      (await import('./clients/clients.ts')).listClients(input, options),
  },
  {
    usage: 'clients add',
    description: 'Add a client that need not register itself. Prints its id, and its secret this once.',
    json: factsAsJson,
    examples: [
      'clients add --name Reports --redirect-uri https://reports.example.com/callback --secret',
      'clients add --name Terminal --grant-types urn:ietf:params:oauth:grant-type:device_code,refresh_token',
      'clients add --name "Notes API" --introspects',
    ],
    switches: {
      '--name <name>': 'what people see',
      '--redirect-uri <uri...>': 'where people are sent back to; may be repeated',
      '--grant-types <types>': 'comma-separated (default: authorization_code,refresh_token)',
      '--secret': 'make a secret: the client has to prove itself with it',
      '--introspects': 'a resource server: it may ask what tokens are worth, and gets a secret',
    },
    shown: ['store', 'privateUseRedirectUris'],
    run: async (input, _operands, options) =>
      (await import('./clients/clients-add.ts')).addClient(input, options),
  },
  {
    usage: 'clients remove <client-id>',
    description: 'Remove a client, and end everything that people allowed to it.',
    json: factsAsJson,
    examples: ['clients remove mcpc_J0Qm1yXv3kq8Zt5oW2bL7g'],
    shown: ['store'],
    run: async (input, [clientId = '']) =>
      (await import('./clients/clients.ts')).removeClient(input, clientId),
  },
]

export const commandGroups: Readonly<Record<string, string>> = {
  access: 'Try the access rules.',
  clients: 'List, add or remove clients.',
  grants: 'List or end what people allowed clients.',
  keys: 'List, generate, rotate or remove the keys that seal what is stored.',
}
