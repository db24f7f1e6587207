import type { Translate } from '../../../../extension/ui/message.ts'

/** A text as stored in `_locales`. */
export interface Message {
  message: string
  description?: string
  placeholders?: Record<string, { content: string }>
}

/** Translates like the browser: fills in placeholders, and returns nothing for an unknown name. */
export function createTranslate(messages: Readonly<Record<string, Message>>): Translate {
  return (key, ...substitutions) => {
    const { message = '', placeholders = {} } = messages[key] ?? {}
    return message.replaceAll(/\$(\w+)\$/g, (_, name: string) => {
      const content = placeholders[name.toLowerCase()]?.content ?? ''
      return substitutions[Number(content.slice(1)) - 1] ?? ''
    })
  }
}
