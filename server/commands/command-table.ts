import type { Setting } from '../setting.ts'
import type { CommandInput, ExitCode } from './command.ts'

/** One command of the command line, with its help. */
export interface CommandRow {
  /** As it is called, with the operands it takes: `keys remove <kid...>`. */
  usage: string
  description: string
  /** What `--json` does. */
  json: string
  /** Command lines without the name of the program. */
  examples: readonly string[]
  /** Switches of its own: each with its text. */
  switches?: Readonly<Record<`--${string}`, string>>
  /** The settings that its help lists; all of them are taken, as a configuration is only ever checked as a whole. */
  shown?: readonly Setting['field'][]
  /** Its code is loaded by the call: serving does not wait for that of the others. */
  run(
    input: CommandInput,
    given: { operands: readonly string[]; isOn: (name: `--${string}`) => boolean },
  ): Promise<ExitCode>
}

const factsAsJson = 'print the facts as one JSON object on stdout'

/** Every command there is; the first is the default. Help and dispatch come from here. */
export const commandTable: readonly CommandRow[] = [
  {
    usage: 'serve',
    description: 'Serve until SIGINT or SIGTERM (default).',
    json: 'print the ready line as JSON on stdout',
    examples: ['', 'serve --store sqlite:/var/lib/drawbridge/server.db'],
    run: async (input) => (await import('./serve.ts')).serveUntilStopped(input),
  },
  {
    usage: 'doctor',
    description: 'Look at everything that serving depends on, and say what to do. Changes nothing.',
    json: factsAsJson,
    examples: ['doctor', 'doctor --json', 'doctor --token-stdin < token.txt'],
    switches: { '--token-stdin': 'read a provider access token from stdin and say which rules it passes' },
    async run(input, { isOn }) {
      const { doctor } = await import('./doctor.ts')
      const { readToken } = await import('./token-input.ts')
      return doctor(input, isOn('--token-stdin') ? await readToken(input.terminal) : undefined)
    },
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
    run: async (input) => (await import('./keys-list.ts')).listKeys(input),
  },
  {
    usage: 'keys generate',
    description: 'Print one new entry for DRAWBRIDGE_SECRET_KEYS. It is a secret; nothing is changed.',
    json: factsAsJson,
    examples: ['keys generate', 'keys generate > secret-keys'],
    shown: [],
    run: async (input) => (await import('./keys-generate.ts')).generateKey(input),
  },
  {
    usage: 'keys rotate',
    description: 'Put a new key in front of the key file, and seal all sessions anew beside running servers.',
    json: factsAsJson,
    examples: ['keys rotate', 'keys rotate --reseal-only'],
    switches: { '--reseal-only': 'add no key: go on with the first one' },
    shown: ['store'],
    async run(input, { isOn }) {
      const { rotateKeys } = await import('./keys-rotate.ts')
      let isStopped = false
      process.once('SIGINT', () => (isStopped = true))
      return rotateKeys(input, { resealOnly: isOn('--reseal-only'), isStopped: () => isStopped })
    },
  },
  {
    usage: 'keys remove <kid...>',
    description: 'Take keys out of the key file that nothing needs any more.',
    json: factsAsJson,
    examples: ['keys remove k20260101-0a1b2c'],
    switches: {
      '--now': 'also within an hour of the last change: people with an open sign-in page start again',
    },
    shown: ['store'],
    run: async (input, { operands, isOn }) =>
      (await import('./keys-remove.ts')).removeKeys(input, operands, { now: isOn('--now') }),
  },
]

/** Names that hold several commands, with what they are about. */
export const commandGroups: Readonly<Record<string, string>> = {
  keys: 'List, generate, rotate or remove the keys that seal what is stored.',
}
