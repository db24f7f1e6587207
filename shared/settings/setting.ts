/** Prefix of every environment variable of the server and of the bridge. */
export const variablePrefix = 'DRAWBRIDGE_'

/**
 * Parses the text of a setting. Throws a `TypeError` whose message names the expected value but never repeats the text,
 * which may be a secret. `Source` is other input of the parser, such as files or variables.
 */
export type ValueParser<Value, Source = void> = (text: string, source: Source) => Value

/** One setting in a program's {@link SettingTable}. */
export interface SettingRow<Value, Source = void> {
  /** Flag without its dashes, and key in a file. Defaults to the field with dashes, `base-url` for `baseUrl`. */
  name?: string
  /** Environment variable without the prefix. Defaults to the name in capitals, `BASE_URL`. */
  variable?: string
  /** Placeholder of its value in help. A switch of the bridge has none: its flag turns it on. */
  value?: string
  /** The only allowed values. */
  choices?: readonly string[]
  parse: ValueParser<Value, Source>
  /** Text used when the setting is not given. */
  default?: string
  /** Describes the default in help and documentation. Defaults to its text, or to `none`. */
  defaultText?: string
  doc: string
  /** Has no flag, because a command line is visible to every user of the machine; never repeated in a message. */
  secret?: true
  /** A second flag that turns it off. */
  negative?: `--no-${string}`
  /** Not allowed in a file: it locates the file, or would store a secret as plain text. */
  notInFile?: true
}

/** Marks a repeatable setting, whose parser receives one text at a time. */
export interface Repeats {
  /** Separates the texts in a variable. */
  separator: string
  /** Joins the name and value of each member where a file has an object. */
  pair?: string
}

type RowOf<Value, Source> =
  | (SettingRow<Value, Source> & { repeats?: never })
  | (Value extends readonly (infer Item)[] ? SettingRow<Item, Source> & { repeats: Repeats } : never)

/** One row per field of `Values`, the source of its flag, variable, help and documentation. */
export type SettingTable<Values, Source = void> = {
  readonly [Field in keyof Values]-?: RowOf<Values[Field], Source>
}

/** A row with its resolved names. */
export interface Setting<Field extends string = string, Source = void> extends SettingRow<unknown, Source> {
  field: Field
  name: string
  variable: string
  defaultText: string
  repeats?: Repeats
}

/** Returns the rows of a table in order. */
export function settingsOf<Values, Source = void>(
  table: SettingTable<Values, Source>,
): Setting<keyof Values & string, Source>[] {
  return Object.entries<SettingRow<unknown, Source>>(table).map(([field, row]) => {
    const { name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) } = row
    const { variable = name.replaceAll('-', '_').toUpperCase() } = row
    const defaultText = row.default || 'none'
    return Object.assign({ field: field as keyof Values & string, name, variable, defaultText }, row)
  })
}

/** Returns the flag of a setting, such as `--base-url`. */
export function flagOf({ name }: Pick<Setting, 'name'>): `--${string}` {
  return `--${name}`
}

/** Returns the variable of a setting, such as `DRAWBRIDGE_BASE_URL`. */
export function variableOf({ variable }: Pick<Setting, 'variable'>): string {
  return variablePrefix + variable
}

/**
 * Reports every fault of a configuration at once. `problems` are sentences that name the setting and what is
 * expected.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  /** Next step, where it is the same for all problems. */
  readonly nextStep: string | undefined

  constructor(problems: readonly string[], nextStep?: string) {
    super(
      `The configuration has ${problems.length} ${problems.length === 1 ? 'fault' : 'faults'}: ${problems.join(' ')}`,
    )
    this.problems = problems
    this.nextStep = nextStep
  }
}
