import { z } from 'zod'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'

/** The value of a hand-written document, or all of its faults. */
export type DocumentReading<Value> =
  | { kind: 'read'; value: Value }
  | { kind: 'faulty'; faults: readonly string[] }

/**
 * Reads a hand-written JSON document. Each fault says where it is and what to write there; messages of a schema start with a verb,
 * or with a colon. Rules about several members are checked only once each of them is valid.
 */
export function readDocument<Value>(schema: z.ZodType<Value>, document: unknown): DocumentReading<Value> {
  // Records drop it, and an omitted condition would match every user.
  if (JSON.stringify(document)?.includes('"__proto__":'))
    return { kind: 'faulty', faults: ['the document has an unknown member "__proto__".'] }
  const { success, data, error } = schema.safeParse(document)
  return success ? { kind: 'read', value: data } : { kind: 'faulty', faults: error.issues.map(faultText) }
}

/** Returns `fallback` for a document whose faults are already reported. */
export function valueOr<Value>(reading: DocumentReading<Value>, fallback: Value): Value {
  return reading.kind === 'read' ? reading.value : fallback
}

function faultText({ path, message }: z.core.$ZodIssue): string {
  const [first, ...rest] = path
  const isEntry = typeof first === 'number'
  const place = placeIn(isEntry ? rest : path)
  const entry = isEntry ? `entry ${first + 1}${place === '' ? '' : ': '}` : ''
  return `${entry}${place}${entry + place === '' ? 'the document' : ''}${message.startsWith(':') ? '' : ' '}${message}`
}

/** Formats a path such as `rules[0].allow`; a name that is not a word is quoted. */
function placeIn(path: readonly PropertyKey[]): string {
  return path
    .map((name, index) => {
      if (typeof name === 'number') return `[${name}]`
      const isWord = /^\w+$/.test(String(name))
      if (index === 0) return isWord ? String(name) : JSON.stringify(name)
      return isWord ? `.${String(name)}` : `[${JSON.stringify(name)}]`
    })
    .join('')
}

/** An object with these members and no other: a misspelt one must not be silently ignored. */
export function members<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const unknown = (name: string): string =>
    `has an unknown member ${JSON.stringify(name)}.${suggestion(name, Object.keys(shape))}`
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map(unknown).join(' It ') : 'must be an object.',
  })
}

/** Requires an object whose values are `value`. Its names are free unless `name` gives their form. */
export function named<Value extends z.ZodType>(
  value: Value,
  name: { form: RegExp; fault: string } = { form: /^/, fault: '' },
): z.ZodRecord<z.ZodString, Value> {
  return z.record(z.string().regex(name.form), value, {
    error: ({ code }) => (code === 'invalid_key' ? name.fault : 'must be an object.'),
  })
}

const maxListLength = 1000
const maxTextLength = 500
const textFault = `must be a text of 1 to ${maxTextLength} characters.`

export const text: z.ZodString = z.string(textFault).min(1, textFault).max(maxTextLength, textFault)

/** A list of at least `min` members, which `what` names. */
export function list<Member extends z.ZodType>(
  member: Member,
  { what, min = 1, max = maxListLength }: { what: string; min?: number; max?: number },
): z.ZodArray<Member> {
  const fault = `must be an array of ${min} to ${max} ${what}.`
  return z.array(member, fault).min(min, fault).max(max, fault)
}

export const texts: z.ZodArray<z.ZodString> = list(text, { what: 'texts' })

export const anyTexts: z.ZodArray<z.ZodString> = list(text, { what: 'texts', min: 0 })

/** A text that `parse` converts. `parse` throws a `TypeError` that names the expected value. */
export function parsed<Value>(parse: (text: string) => Value): z.ZodType<Value, string> {
  return text.transform((given, context) => {
    try {
      return parse(given)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      context.addIssue(`: ${error.message}.`)
      return z.NEVER
    }
  })
}
