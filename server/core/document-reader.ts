import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { suggestion } from '@drawbridge/shared/nearest-name.ts'

/**
 * Reads a JSON document that a person wrote, and collects every fault of it. Each says where it is and what to write; a member that is
 * not known is a fault. After a fault the value read is a stand-in: look at {@link faults} before using any.
 */
export class DocumentReader {
  readonly faults: string[] = []

  fault(text: string): void {
    this.faults.push(text)
  }

  /** Undefined when `value` is no object. `members` are those that it may have; without them it may have any. */
  object(at: string, value: unknown, members?: readonly string[]): JsonObject | undefined {
    if (!isJsonObject(value)) {
      this.fault(`${at} must be an object.`)
      return undefined
    }
    for (const name of members ? Object.keys(value) : []) {
      if (!members?.includes(name)) {
        this.fault(`${at} has an unknown member ${JSON.stringify(name)}.${suggestion(name, members ?? [])}`)
      }
    }
    return value
  }

  /** What `read` makes of a member; undefined when it is not there. */
  optional<Value>(object: JsonObject, name: string, read: (value: unknown) => Value): Value | undefined {
    return Object.hasOwn(object, name) ? read(object[name]) : undefined
  }

  /** `what` says what the members are. */
  list<Member>(
    at: string,
    value: unknown,
    isMember: (member: unknown) => member is Member,
    { what, min = 1, max }: { what: string; min?: number; max: number },
  ): Member[] {
    const isList = Array.isArray(value) && value.length >= min && value.length <= max
    if (isList && value.every(isMember)) return value
    this.fault(`${at} must be an array of ${min} to ${max} ${what}.`)
    return []
  }

  texts(at: string, value: unknown, { min = 1 }: { min?: number } = {}): string[] {
    const what = `texts of 1 to ${maxTextLength} characters`
    return this.list(at, value, isText, { what, min, max: maxListLength })
  }

  text(at: string, value: unknown): string {
    if (isText(value)) return value
    this.fault(`${at} must be a text of 1 to ${maxTextLength} characters.`)
    return ''
  }
}

/** How many members a list of a document may have. */
export const maxListLength = 1000
/** How many characters a text of a document may have. */
export const maxTextLength = 500

/** Whether a value is a text that is neither empty nor too long. */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= maxTextLength
}
