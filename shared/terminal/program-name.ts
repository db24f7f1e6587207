/** The command that starts a program: its name in the user's shell, or what npm requires before its arguments. */
export interface TypedProgram {
  /** Without arguments, such as `npm start`. */
  bare: string
  /** Before arguments, such as `npm start --`. */
  withArguments: string
}

/** Texts for every system name what POSIX has, and these are its forms on Windows. Commands are those of PowerShell. */
export type WindowsForms = readonly (readonly [posix: RegExp, windows: string])[]

/** Rewrites a text for the system that it is read on. */
export function onPlatform(text: string, platform: string, forms: WindowsForms): string {
  if (platform !== 'win32') return text
  return forms.reduce((changed, [posix, windows]) => changed.replaceAll(posix, windows), text)
}

/** Returns whether the running script `launcher` was fetched by npx rather than installed. */
export function isFetchedByNpx(launcher: string): boolean {
  return /[\\/]_npx[\\/]/.test(launcher)
}

/**
 * Rewrites the commands of `program` in a text as the user has to type them. `command` matches what follows the name
 * and a blank in a command, but not in a sentence. The bare name counts only where a line of examples has nothing
 * else.
 */
export function commandsAsTyped(text: string, program: string, command: string, typed: TypedProgram): string {
  return text
    .replaceAll(new RegExp(String.raw`(?<![\w./-])${program} (?=${command})`, 'g'), `${typed.withArguments} `)
    .replaceAll(new RegExp(String.raw`^( {2,})${program}(?= {2,}|$)`, 'gm'), `$1${typed.bare}`)
}
