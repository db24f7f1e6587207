import { Command, CommanderError } from 'commander'
import { ConfigError, createConfig, flagOf, settings, variablePrefix } from './config.ts'
import { readSettings } from './configuration-source.ts'
import { serve } from './serve.ts'
import { version } from './version.ts'

// Stable, so that scripts can tell them apart.
const exitCode = { ok: 0, failed: 1, usage: 2 } as const

const examples = `Examples:
  drawbridge-server                                 try it: embedded provider, demo web app, SQLite in .drawbridge/
  drawbridge-server --listen 127.0.0.1:9000 --base-url http://localhost:9000
  DRAWBRIDGE_STORE=memory: drawbridge-server --json
  drawbridge-server --version

Every flag has a variable: --base-url is ${variablePrefix}BASE_URL. Exit codes: 0 ok, 1 failed, 2 usage.
`

/** Runs one command line and answers its exit code. A wrong configuration prints every fault and is 2. */
export async function run(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  let code: number = exitCode.ok
  const program = createProgram(async (options) => {
    code = await startServer(options, environment)
  })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage
  }
}

type Options = Record<string, string | boolean | undefined>

function createProgram(start: (options: Options) => Promise<void>): Command {
  const program = new Command('drawbridge-server')
    .description('OAuth 2.1 authorization server and MCP endpoint in front of a session provider.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('Run drawbridge-server --help for every flag.')
  const command = program
    .command('serve', { isDefault: true })
    .description('Serve until SIGINT or SIGTERM (default).')
  command.option('--json', 'print the ready line as JSON on stdout')
  for (const setting of settings.filter(({ secret }) => !secret)) {
    command.option(`${flagOf(setting)} <value>`, `${setting.doc} (default: ${setting.defaultText})`)
  }
  command.addHelpText('before', examples).exitOverride()
  // One command and its flags are all there is: the same help with and without naming it.
  program.addHelpText('before', examples).helpInformation = () => command.helpInformation()
  command.action((options: Options) => start(options))
  return program
}

async function startServer(
  options: Options,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  try {
    const flags = Object.fromEntries(
      settings.map((setting) => [setting.field, textOption(options[optionKey(flagOf(setting))])]),
    )
    const { given, name, problems } = readSettings(flags, environment)
    const production = environment['NODE_ENV'] === 'production'
    const config = createConfig(given, { production, problems }, name)
    await serve(config, { json: options['json'] === true })
    return exitCode.ok
  } catch (error) {
    const lines = error instanceof ConfigError ? error.problems : [startFailure(error)]
    process.stderr.write(`drawbridge-server did not start.\n${lines.map((line) => `  - ${line}\n`).join('')}`)
    return error instanceof ConfigError ? exitCode.usage : exitCode.failed
  }
}

function textOption(value: string | boolean | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Commander's name for a flag: `--base-url` is `baseUrl`. */
function optionKey(flag: string): string {
  return flag.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function startFailure(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  switch (code) {
    case 'EADDRINUSE':
      return `${message}. Stop what uses that port, or choose another with --listen, --base-url and --app-url.`
    case 'EACCES':
    case 'EROFS':
      return `${message}. Choose a place that can be written with --store sqlite:PATH.`
    default:
      return message
  }
}
