import { type Command, Option } from 'commander'
import { nearestName } from '@drawbridge/shared/nearest-name.ts'
import { foreignFlags } from './setting-foreign.ts'
import { negativeOf, type Setting, settingFlags, settings, type SettingValues } from './setting-table.ts'
import { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'

/** A parsed command line. */
export interface CommandLine {
  /** Arguments that are not flags: the URL and the port. */
  operands: readonly string[]
  /** By field: `on` or `off` for a switch, several for a repeated flag. */
  flags: Partial<Record<keyof SettingValues, readonly string[]>>
  problems: readonly string[]
  /** About flags that are accepted without effect. */
  warnings: readonly string[]
}

/** Collects the flags of settings while commander parses a line. Values are not checked. */
export class FlagReader {
  readonly #texts = new Map<keyof SettingValues, string[]>()
  readonly #problems: string[] = []
  readonly #warnings: string[] = []

  /** Adds the flags of all settings and of other bridges to `command`. `isShown`: its help lists the settings. */
  addFlags(command: Command, isShown: boolean): void {
    for (const setting of settings) {
      const { value, group, doc, defaultText, secret } = setting
      const flag = flagOf(setting)
      const option = new Option(
        value === undefined ? flag : `${flag} <${value.replaceAll("'", '')}>`,
        `${doc} (default: ${defaultText})`,
      )
      option.helpGroup(`${group}:`).hideHelp(!isShown)
      add(command, option, (text) => {
        if (!secret) return this.#take(setting, text ?? 'on')
        const remedy = `Use ${variableOf(setting)}.`
        this.#problems.push(
          `${flag}: is not a flag, because every user of this computer could see it. ${remedy}`,
        )
      })
      const negative = negativeOf(setting)
      if (negative !== undefined)
        add(command, new Option(negative).hideHelp(), () => this.#take(setting, 'off'))
    }
    for (const [flags, foreign] of Object.entries(foreignFlags)) {
      const [name = flags] = flags.split(' ')
      add(command, new Option(flags).hideHelp(), () => {
        if ('by' in foreign) this.#problems.push(`${name}: there is no such flag. Use ${foreign.by}.`)
        else this.#warnings.push(`${name} has no effect: ${foreign.why}.`)
      })
    }
  }

  /** Returns the line that `command` has parsed. Its remaining arguments are operands and unknown flags. */
  lineOf(command: Command): CommandLine {
    const operands: string[] = []
    const problems = [...this.#problems]
    const rest = [...command.args]
    for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
      if (!word.startsWith('-') || word === '-') operands.push(word)
      else if (word !== '--') {
        const { problem, takesValue } = unknownFlag(word, command)
        problems.push(problem)
        // The value of a misspelt flag is not a second fault.
        if (takesValue && !word.includes('=') && rest[0]?.startsWith('-') === false) rest.shift()
      }
    }
    return { operands, flags: Object.fromEntries(this.#texts), problems, warnings: this.#warnings }
  }

  #take({ field, repeats, ...setting }: Setting, text: string): void {
    const before = this.#texts.get(field) ?? []
    if (repeats === undefined && before.length > 0 && before[0] !== text)
      this.#problems.push(`${flagOf(setting)}: is given twice, with different values.`)
    this.#texts.set(field, repeats === undefined ? [text] : [...before, text])
  }
}

function add(command: Command, option: Option, onGiven: (text?: string) => void): void {
  command.addOption(option).on(`option:${option.name()}`, onGiven)
}

function unknownFlag(word: string, { options }: Command): { problem: string; takesValue: boolean } {
  const [name = word] = word.split('=')
  if (options.some(({ long }) => long === name))
    return { problem: `${name}: takes no value.`, takesValue: false }
  const own = options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? '')
  const known = [...settingFlags, ...own, '--help', '--version'].filter((flag) => !secretFlags.has(flag))
  const meant = nearestName(name, known)
  const question = meant === undefined ? '' : ` Did you mean ${meant}?`
  return {
    problem: `${name}: there is no such flag.${question}`,
    takesValue: options.some(({ long, required }) => long === meant && required),
  }
}

const secretFlags: ReadonlySet<string> = new Set(settings.filter(({ secret }) => secret).map(flagOf))
