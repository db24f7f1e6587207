import {
  commandsAsTyped,
  isFetchedByNpx,
  onPlatform,
  type TypedProgram,
  type WindowsForms,
} from '@drawbridge/shared/terminal/program-name.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** How this process was started: its script, and the variables that npm sets. */
export interface Started {
  launcher: string
  environment: Environment
}

const name = 'drawbridge-server'
const npx: TypedProgram = { bare: `npx ${name}`, withArguments: `npx ${name}` }
const npmStart: TypedProgram = { bare: 'npm start', withArguments: 'npm start --' }

const command = String.raw`(?:serve|init|doctor|migrate|keys|grants|attempts|usage|clients|access|texts|--[a-z ]|\[)(?![a-z ]* failed\.)`

/** Without quotes and backslashes, since JSON is rewritten too; the last two forms are of help only. */
const windowsForms: WindowsForms = [
  // There `curl` alone is another program.
  [/\bcurl (?=-|http)/g, 'curl.exe '],
  [/\bumask 077; /g, ''],
  [/ -- npx /g, ' -- cmd /c npx '],
  [/SIGINT or SIGTERM/g, 'Ctrl-C'],
  // Its folder decides there.
  [/ \(for you only\)/g, ' (secret)'],
  [/ && sudo chown 1000 [\w-]+ && /g, '; '],
  // `<` is not known there.
  [/(drawbridge-server [^<\n]*) < (\S+)/g, 'type $2 | $1'],
  [/\/var\/lib\/drawbridge\//g, 'C:\\ProgramData\\drawbridge\\'],
  [/\.drawbridge\/(?=$|\w+\.db(?:;|\s+for))/gm, '.drawbridge\\'],
]

/** Other programs use the output of these, and npm start prints its own lines on stdout. */
const captured = 'keys generate'

/**
 * Rewrites this program's commands, and what else depends on the system, in a text as the user who started it can type them: `npm start --` or `npx drawbridge-server` if
 * npm started it, otherwise the bare name.
 */
export function asTyped(
  given: string,
  started: Started = thisProcess(),
  platform: NodeJS.Platform = process.platform,
): string {
  const text = onPlatform(given, platform, windowsForms)
  const typed = typedProgram(started)
  if (typed === undefined) return text
  // The lookbehind avoids adding npx twice.
  const program = `(?<!npx )${name}`
  const withCaptured = commandsAsTyped(text, program, captured, {
    ...typed,
    withArguments: npx.withArguments,
  })
  return commandsAsTyped(withCaptured, program, command, typed)
}

/** Returns undefined if it was started by its bare name, or in an unknown way. */
function typedProgram({ launcher, environment }: Started): TypedProgram | undefined {
  const { npm_command: npmCommand, npm_lifecycle_event: script } = environment
  if (isFetchedByNpx(launcher) || npmCommand === 'exec') return npx
  // Another project's start script may have arguments that leave no room for a command.
  if (script === 'start' && /[\\/]server[\\/]launcher\.cjs$/.test(launcher)) return npmStart
  return npmCommand !== undefined && /[\\/]node_modules[\\/]/.test(launcher) ? npx : undefined
}

function thisProcess(): Started {
  return { launcher: process.argv[1] ?? '', environment: process.env }
}
