import { type Template, userProperties } from './upstream.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Shorter values are ordinary words in the log rather than secrets. */
const minSecretLength = 4

/** Fills the places of variables in the texts of one document, and collects what it put there as secrets. */
export class Filling {
  readonly #environment: Environment
  readonly secrets = new Set<string>()

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** Replaces `${env:NAME}`. Throws a `TypeError` for other names and unset variables. */
  fill(given: string): string {
    return given.replaceAll(/\$\{([^}]*)\}/g, (place, name: string) => {
      const variable = /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(name)?.[1]
      if (variable === undefined)
        throw new TypeError(`${place} is unknown; write \${env:NAME} for an environment variable`)
      const value = this.#environment[variable]
      if (value === undefined) throw new TypeError(`the variable ${variable} is not set`)
      if (value.length >= minSecretLength) this.secrets.add(value)
      return value
    })
  }

  /** Does the same as {@link fill}, and leaves `${user:...}` to be filled for each caller. */
  template(given: string): Template {
    return given.split(/(\$\{user:[^}]*\})/).flatMap((part): Template => {
      const name = /^\$\{user:([^}]*)\}$/.exec(part)?.[1]
      if (name === undefined) return part === '' ? [] : [this.fill(part)]
      const known = userProperties.find((each) => each === name)
      if (known) return [{ user: known }]
      throw new TypeError(`there is no \${user:${name}}, only ${userProperties.join(', ')}`)
    })
  }
}
