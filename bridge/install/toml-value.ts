/** What an entry of a client consists of in TOML. */
export type TomlEntry = Readonly<
  Record<string, string | readonly string[] | Readonly<Record<string, string>>>
>

/** A TOML string: literal where there are backslashes, as of Windows paths, else basic. */
function renderTomlString(text: string): string {
  // oxlint-disable-next-line no-control-regex
  if (text.includes('\\') && !/['\u0000-\u001F\u007F]/.test(text)) return `'${text}'`
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`)
}

/** A value of an entry, on one line. */
export function renderTomlValue(value: TomlEntry[string]): string {
  if (typeof value === 'string') return renderTomlString(value)
  if (isList(value)) return `[${value.map(renderTomlString).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, member]) => `${renderTomlKey(key)} = ${renderTomlString(member)}`,
  )
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

/** A key, bare where TOML allows it. */
function renderTomlKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : renderTomlString(key)
}

/** The lines of an entry as a table of its own, without a line end behind the last. */
export function renderTomlTable(path: readonly string[], entry: TomlEntry): string[] {
  return [`[${path.map(renderTomlKey).join('.')}]`, ...renderTomlLines(entry)]
}

/** `key = value` lines. */
export function renderTomlLines(entry: TomlEntry): string[] {
  return Object.entries(entry).map(([key, value]) => `${renderTomlKey(key)} = ${renderTomlValue(value)}`)
}

function isList(value: TomlEntry[string]): value is readonly string[] {
  return Array.isArray(value)
}
