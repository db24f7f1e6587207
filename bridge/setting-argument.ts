import { foreignFlags } from './setting-foreign.ts'
import { suggestion } from './setting-nearest.ts'
import { settings } from './setting-table.ts'
import { flagOf, type Setting, type SettingValues, variableOf } from './setting.ts'

/** Texts of settings, by field; several for a repeated one, `on` for a bare switch. */
export type SettingTexts = Partial<Record<keyof SettingValues, readonly string[]>>

/** A command line as it was understood. */
export interface ParsedArguments {
  /** What is no flag: the URL and the port. */
  operands: readonly string[]
  flags: SettingTexts
  /** Flags of the command itself that are on, such as `--json`. */
  switches: ReadonlySet<string>
  /** Sentences, one for each fault. */
  problems: readonly string[]
  /** Sentences about flags that are taken and do nothing. */
  warnings: readonly string[]
}

interface FlagRow {
  setting: Setting
  /** What it says by itself; undefined when it takes a value. */
  means: 'on' | 'off' | undefined
}

const rows: ReadonlyMap<string, FlagRow> = new Map(settings.filter(({ secret }) => secret !== true).flatMap(flagRows))

function flagRows(setting: Setting): (readonly [string, FlagRow])[] {
  const own = [flagOf(setting), { setting, means: setting.value === undefined ? 'on' : undefined }] as const
  return setting.negative === undefined ? [own] : [own, [setting.negative, { setting, means: 'off' }]]
}

/** Every flag that {@link parseArguments} takes for settings. */
export const settingFlags: readonly string[] = [...rows.keys()]

/**
 * Reads the words of a command line. Flags may stand anywhere, with `=` or with a blank before their value; a value may
 * begin with a dash; `--` ends them. `own` are the switches of the command. Values are not looked at. Never throws.
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
    problems: reading.problems,
    warnings: reading.warnings,
  }
}

class ArgumentReading {
  readonly operands: string[] = []
  readonly texts = new Map<keyof SettingValues, string[]>()
  readonly switches = new Set<string>()
  readonly problems: string[] = []
  readonly warnings: string[] = []
  readonly #own: readonly string[]

  constructor(own: readonly string[]) {
    this.#own = own
  }

  takeFlag(word: string, rest: string[]): void {
    const [, name = word, inline] = /^(--?[^=]*)=(.*)$/s.exec(word) ?? []
    const row = rows.get(name)
    if (row) this.#takeSetting(row, name, inline, rest)
    else if (this.#own.includes(name)) this.#takeOwn(name, inline)
    else this.#takeUnknown(name, inline, rest)
  }

  #takeOwn(name: string, inline: string | undefined): void {
    if (inline === undefined) this.switches.add(name)
    else this.problems.push(`${name}: takes no value.`)
  }

  #takeSetting({ setting, means }: FlagRow, name: string, inline: string | undefined, rest: string[]): void {
    if (means === 'off' && inline !== undefined) {
      this.problems.push(`${name}: takes no value.`)
      return
    }
    const text = inline ?? means ?? rest.shift()
    if (text === undefined) {
      this.problems.push(`${name}: expected ${setting.value ?? 'a value'} behind it.`)
      return
    }
    const before = this.texts.get(setting.field) ?? []
    if (before.length > 0 && setting.repeats === undefined && before[0] !== text) {
      this.problems.push(`${name}: is there twice, with different values.`)
    }
    this.texts.set(setting.field, setting.repeats === undefined ? [text] : [...before, text])
  }

  #takeUnknown(name: string, inline: string | undefined, rest: string[]): void {
    const foreign = Object.hasOwn(foreignFlags, name) ? foreignFlags[name] : undefined
    if (foreign?.kind === 'no_effect') {
      this.warnings.push(`${name} has no effect: ${foreign.why}.`)
      return
    }
    if (foreign) {
      this.problems.push(`${name}: there is no such flag. Use ${foreign.by}.`)
      const takesNext = foreign.takesValue && inline === undefined && rest[0]?.startsWith('-') === false
      if (takesNext) rest.shift()
      return
    }
    const secret = settings.find((setting) => setting.secret === true && flagOf(setting) === name)
    const known = [...settingFlags, ...this.#own, '--help', '--version']
    this.problems.push(
      secret
        ? `${name}: is no flag, as everybody on this computer can see it. Use the variable ${variableOf(secret)}.`
        : `${name}: there is no such flag.${suggestion(name, known)}`,
    )
  }
}
