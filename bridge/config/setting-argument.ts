import { foreignFlags } from './setting-foreign.ts'
import { nearestName } from '@drawbridge/shared/nearest-name.ts'
import { settings } from './setting-table.ts'
import { flagOf, type Setting, type SettingValues, variableOf } from './setting.ts'

/** Texts of settings by field: `on` for a bare switch, several for a repeated flag. */
export type SettingTexts = Partial<Record<keyof SettingValues, readonly string[]>>

/** A parsed command line. */
export interface ParsedArguments {
  /** The arguments that are not flags: the URL and the port. */
  operands: readonly string[]
  flags: SettingTexts
  /** Flags of the command itself that are on, such as `--json`. */
  switches: ReadonlySet<string>
  /** Flags of the command itself that have a value, such as `--name`. */
  values: ReadonlyMap<string, string>
  /** One sentence for each fault. */
  problems: readonly string[]
  /** Sentences about flags that are accepted and do nothing. */
  warnings: readonly string[]
}

interface FlagRow {
  setting: Setting
  /** The text it stands for; undefined when it takes a value. */
  means: 'on' | 'off' | undefined
}

const rows: ReadonlyMap<string, FlagRow> = new Map(
  settings.filter(({ secret }) => secret !== true).flatMap(flagRows),
)

function flagRows(setting: Setting): (readonly [string, FlagRow])[] {
  const own = [flagOf(setting), { setting, means: setting.value === undefined ? 'on' : undefined }] as const
  return setting.negative === undefined ? [own] : [own, [setting.negative, { setting, means: 'off' }]]
}

/** Every flag of a setting. */
export const settingFlags: readonly string[] = [...rows.keys()]

/**
 * Parses the words of a command line. Flags may be anywhere, with `=` or a space before their value; a value may begin with a
 * dash; `--` ends the flags. `own` lists the flags of the command itself, those with a value as `--name <name>`. Values are not
 * checked. Never throws.
 */
export function parseArguments(words: readonly string[], own: readonly string[]): ParsedArguments {
  const reading = new ArgumentReading(own)
  const rest = [...words]
  while (rest.length > 0) {
    const word = rest.shift() ?? ''
    if (word === '--') reading.operands.push(...rest.splice(0))
    else if (word.startsWith('-') && word !== '-') reading.takeFlag(word, rest)
    else reading.operands.push(word)
  }
  return {
    operands: reading.operands,
    flags: Object.fromEntries(reading.texts),
    switches: reading.switches,
    values: reading.values,
    problems: reading.problems,
    warnings: reading.warnings,
  }
}

class ArgumentReading {
  readonly operands: string[] = []
  readonly texts = new Map<keyof SettingValues, string[]>()
  readonly switches = new Set<string>()
  readonly values = new Map<string, string>()
  readonly problems: string[] = []
  readonly warnings: string[] = []
  /** The name of the value of each flag of the command; undefined for a switch. */
  readonly #own: ReadonlyMap<string, string | undefined>

  constructor(own: readonly string[]) {
    this.#own = new Map(
      own.map((flag) => {
        const [name = flag, value] = flag.split(' ')
        return [name, value] as const
      }),
    )
  }

  takeFlag(word: string, rest: string[]): void {
    const [, name = word, inline] = /^(--?[^=]*)=(.*)$/s.exec(word) ?? []
    const row = rows.get(name)
    if (row) this.#takeSetting(row, name, inline, rest)
    else if (this.#own.has(name)) this.#takeOwn(name, inline, rest)
    else this.#takeUnknown(name, inline, rest)
  }

  #takeOwn(name: string, inline: string | undefined, rest: string[]): void {
    const value = this.#own.get(name)
    if (value === undefined) {
      if (inline === undefined) this.switches.add(name)
      else this.problems.push(`${name}: takes no value.`)
      return
    }
    const text = inline ?? rest.shift()
    if (text === undefined) this.problems.push(`${name}: a value is missing, as in ${name} ${value}.`)
    else this.values.set(name, text)
  }

  #takeSetting({ setting, means }: FlagRow, name: string, inline: string | undefined, rest: string[]): void {
    if (means === 'off' && inline !== undefined) {
      this.problems.push(`${name}: takes no value.`)
      return
    }
    const text = inline ?? means ?? rest.shift()
    if (text === undefined) {
      this.problems.push(`${name}: a value is missing, as in ${name} <${setting.value ?? 'value'}>.`)
      return
    }
    const before = this.texts.get(setting.field) ?? []
    if (before.length > 0 && setting.repeats === undefined && before[0] !== text) {
      this.problems.push(`${name}: is given twice, with different values.`)
    }
    this.texts.set(setting.field, setting.repeats === undefined ? [text] : [...before, text])
  }

  #takeUnknown(name: string, inline: string | undefined, rest: string[]): void {
    const foreign = Object.hasOwn(foreignFlags, name) ? foreignFlags[name] : undefined
    if (foreign?.kind === 'no_effect') {
      this.warnings.push(`${name} has no effect: ${foreign.why}.`)
      return
    }
    const { problem, takesValue } =
      foreign === undefined
        ? this.#misspelt(name)
        : { problem: `there is no such flag. Use ${foreign.by}.`, takesValue: foreign.takesValue }
    this.problems.push(`${name}: ${problem}`)
    // The value of a refused flag is not a second fault.
    if (takesValue && inline === undefined && rest[0]?.startsWith('-') === false) rest.shift()
  }

  #misspelt(name: string): { problem: string; takesValue: boolean } {
    const secret = settings.find((setting) => setting.secret === true && flagOf(setting) === name)
    if (secret) {
      const problem = `is not a flag, because every user of this computer could see it. Use ${variableOf(secret)}.`
      return { problem, takesValue: true }
    }
    const meant = nearestName(name, [...settingFlags, ...this.#own.keys(), '--help', '--version'])
    if (meant === undefined) return { problem: 'there is no such flag.', takesValue: false }
    const row = rows.get(meant)
    const takesValue = row !== undefined && row.means === undefined
    return { problem: `there is no such flag. Did you mean ${meant}?`, takesValue }
  }
}
