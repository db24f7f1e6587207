/** How a person starts a program: its name in their shell, or what npm wants in front of its arguments. */
export interface TypedProgram {
  /** Without arguments, such as `npm start`. */
  bare: string
  /** In front of arguments, such as `npm start --`. */
  withArguments: string
}

/** Whether `launcher`, the script that runs, was fetched by npx and not installed. */
export function isFetchedByNpx(launcher: string): boolean {
  return /[\\/]_npx[\\/]/.test(launcher)
}

/**
 * `text` with the commands of `program` as a person types them. `command` is what follows the name and a blank where it is
 * a command and not a word of a sentence. The name alone counts where a line of examples has nothing else.
 */
export function commandsAsTyped(text: string, program: string, command: string, typed: TypedProgram): string {
  return text
    .replaceAll(new RegExp(String.raw`(?<![\w./-])${program} (?=${command})`, 'g'), `${typed.withArguments} `)
    .replaceAll(new RegExp(String.raw`^( {2,})${program}(?= {2,}|$)`, 'gm'), `$1${typed.bare}`)
}
