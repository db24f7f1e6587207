import {
  commandsAsTyped,
  isFetchedByNpx,
  type TypedProgram,
} from '@drawbridge/shared/terminal/program-name.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** How this process was started: the script that runs, and the variables that npm gives to what it starts. */
export interface Started {
  launcher: string
  environment: Environment
}

const name = 'drawbridge-server'
const npx: TypedProgram = { bare: `npx ${name}`, withArguments: `npx ${name}` }
const npmStart: TypedProgram = { bare: 'npm start', withArguments: 'npm start --' }

const command = String.raw`(?:serve|doctor|migrate|keys|grants|clients|access|--[a-z]|\[)(?![a-z ]* failed\.)`

/** Output of these is used by other programs, and npm start prints lines of its own on stdout. */
const captured = 'keys generate'

/**
 * `text` with the commands of this program as the person who started it can type them: `npm start --` or `npx drawbridge-server`
 * where npm started it, else the bare name.
 */
export function asTyped(text: string, started: Started = thisProcess()): string {
  const typed = typedProgram(started)
  if (typed === undefined) return text
  // The lookbehind: npx is not put in front twice.
  const program = `(?<!npx )${name}`
  const withCaptured = commandsAsTyped(text, program, captured, {
    ...typed,
    withArguments: npx.withArguments,
  })
  return commandsAsTyped(withCaptured, program, command, typed)
}

/** Undefined: by its bare name, or by somebody of whom nothing is known. */
function typedProgram({ launcher, environment }: Started): TypedProgram | undefined {
  const { npm_command: npmCommand, npm_lifecycle_event: script } = environment
  if (isFetchedByNpx(launcher) || npmCommand === 'exec') return npx
  // The start script of another project may have arguments that leave no room for a command.
  if (script === 'start' && /[\\/]server[\\/]launcher\.cjs$/.test(launcher)) return npmStart
  return npmCommand !== undefined && /[\\/]node_modules[\\/]/.test(launcher) ? npx : undefined
}

function thisProcess(): Started {
  return { launcher: process.argv[1] ?? '', environment: process.env }
}
