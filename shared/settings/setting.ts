/** Prefix of every environment variable of the server and of the bridge. */
export const variablePrefix = 'DRAWBRIDGE_'

/**
 * Turns the text of a setting into its value. Throws a `TypeError` whose message says what is expected, but never repeats the
 * text, which may be a secret. `Source` is what else the parser reads: files, variables.
 */
export type ValueParser<Value, Source = void> = (text: string, source: Source) => Value

/** What a program writes about one setting in its {@link SettingTable}. */
export interface SettingRow<Value, Source = void> {
  /** Flag without its dashes, and key in a file. Left out: the field with dashes, `base-url` for `baseUrl`. */
  name?: string
  /** Environment variable without the prefix. Left out: the name in capitals, `BASE_URL`. */
  variable?: string
  /** What help calls its value. A switch of the bridge has none: it is on when its flag is there. */
  value?: string
  /** The only words it can be. */
  choices?: readonly string[]
  parse: ValueParser<Value, Source>
  /** Text that stands for the setting when it is not given, if there is one. */
  default?: string
  /** How help and documentation describe the default. Left out: as its text. */
  defaultText?: string
  doc: string
  /** Has no flag, because a command line is visible to every user of the machine; never repeated in a message. */
  secret?: true
  /** A second flag that means `off`. */
  negative?: `--no-${string}`
  /** Refused in a file: the file is found by it, or it would be a secret in clear. */
  notInFile?: true
  /** Whether mcp-remote has the same flag. */
  mcpRemote?: true
}

/** Marks a setting that can be given several times; its parser gets one text at a time. */
export interface Repeats {
  /** Separates the texts in a variable. */
  separator: string
  /** Joins the name and value of each member where a file has an object. */
  pair?: string
}

type RowOf<Value, Source> = ({ default: string } | { defaultText: string }) &
  (
    | (SettingRow<Value, Source> & { repeats?: never })
    | (Value extends readonly (infer Item)[] ? SettingRow<Item, Source> & { repeats: Repeats } : never)
  )

/** A row for each field of `Values`: its flag, variable, help and documentation all come from here. */
export type SettingTable<Values, Source = void> = {
  readonly [Field in keyof Values]-?: RowOf<Values[Field], Source>
}

/** A row with its names. */
export interface Setting<Field extends string = string, Source = void> extends SettingRow<unknown, Source> {
  field: Field
  name: string
  variable: string
  defaultText: string
  repeats?: Repeats
}

/** The rows of a table, in its order. */
export function settingsOf<Values, Source = void>(
  table: SettingTable<Values, Source>,
): Setting<keyof Values & string, Source>[] {
  return Object.entries<SettingRow<unknown, Source>>(table).map(([field, row]) => {
    const { name = field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) } = row
    const { variable = name.replaceAll('-', '_').toUpperCase() } = row
    const { default: defaultText = '' } = row
    return Object.assign({ field: field as keyof Values & string, name, variable, defaultText }, row)
  })
}

/** The flag of a setting, such as `--base-url`. */
export function flagOf({ name }: Pick<Setting, 'name'>): `--${string}` {
  return `--${name}`
}

/** The variable of a setting, such as `DRAWBRIDGE_BASE_URL`. */
export function variableOf({ variable }: Pick<Setting, 'variable'>): string {
  return variablePrefix + variable
}

/** Every fault of a configuration at once. `problems` are sentences that name the setting and what is expected. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  /** What to do, where it is the same for all of them. */
  readonly nextStep: string | undefined

  constructor(problems: readonly string[], nextStep?: string) {
    super(
      `The configuration has ${problems.length} ${problems.length === 1 ? 'fault' : 'faults'}: ${problems.join(' ')}`,
    )
    this.problems = problems
    this.nextStep = nextStep
  }
}
