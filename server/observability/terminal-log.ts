import { styleText } from 'node:util'
import { isJsonObject, parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { plainText } from '@drawbridge/shared/terminal/plain-text.ts'
import type { DestinationStream } from 'pino'
import { logEvents } from './log-event.ts'

/** The colour of a log line: `dim` for the least important. */
type LogColour = 'red' | 'yellow' | 'dim'

type Paint = (colour: LogColour, text: string) => string

/** Fields that are in the sentence, concern the line itself, or mean nothing to a person watching. */
const leftOut = new Set([
  'level',
  'time',
  'event',
  'audit',
  'err',
  'host',
  'signal',
  'next_step',
  'trace_id',
  'address',
  'unknown',
  'unlisted',
  'revision',
  'request_bytes',
  'response_bytes',
])

const levels: readonly (readonly [min: number, word: string, colour: LogColour | undefined])[] = [
  [50, 'error: ', 'red'],
  [40, 'warning: ', 'yellow'],
  [30, '', undefined],
  [0, '', 'dim'],
]

/** Sentences for the terminal that differ from the table. */
const sentences: Readonly<Record<string, (line: JsonObject) => string>> = {
  stopping: ({ signal }) =>
    signal === 'SIGINT'
      ? 'Stopping; running requests may finish. Press Ctrl-C again to stop at once.'
      : 'Stopping; running requests may finish.',
  client_document_unavailable: ({ host, client_id: id }) =>
    `The app ${textOf(id)} could not be checked: its metadata document could not be fetched from ${textOf(host)}.`,
  tool_called: ({ tool }) => `The tool ${textOf(tool)} was called.`,
}

/**
 * Writes each line of the log, JSON without secrets, to `destination` in readable form: local time, what happened, and useful
 * fields. Sanitizes text from others.
 */
export function createTerminalLog(
  destination: DestinationStream,
  colour: Paint = colourOfStderr,
): DestinationStream {
  return {
    write(json) {
      const line = parseJsonObject(json)
      destination.write(line ? readableLine(line, colour) : json)
    },
  }
}

function readableLine(line: JsonObject, colour: Paint): string {
  const { event, level, time, err, next_step: nextStep, ...rest } = line
  const [, word, levelColour] = levels.find(([min]) => Number(level) >= min) ?? levels[0]!
  const sentence = `${word}${sentenceOf(String(event), line)}${errorText(err)}`
  const text = levelColour === undefined ? plainText(sentence) : colour(levelColour, plainText(sentence))
  const isInSentence = (value: unknown): boolean =>
    typeof value === 'string' && value.length > 3 && sentence.includes(value)
  const fields = Object.entries(rest)
    .filter(
      ([name, value]) =>
        !leftOut.has(name) && !isInSentence(value) && !(name === 'request_id' && line['audit'] === true),
    )
    .map(([name, value]) => `${name}=${plainText(textOf(value))}`)
  const step = typeof nextStep === 'string' ? `\n          -> ${plainText(nextStep)}` : ''
  const details = fields.length === 0 ? '' : `  ${colour('dim', fields.join(' '))}`
  return `${colour('dim', localTime(time))}  ${text}${details}${step}${stackText(Number(level), err, colour)}\n`
}

/** Returns the first sentence of the meaning in the table; an event missing from it uses its name. */
function sentenceOf(event: string, line: JsonObject): string {
  const sentence = sentences[event]
  if (sentence) return sentence(line)
  const meaning = logEvents[event]?.meaning ?? `${event.replaceAll('_', ' ')}.`
  return meaning.replace(/(?<=\.) .*$/s, '')
}

function errorText(error: unknown): string {
  return isJsonObject(error) && typeof error['message'] === 'string' ? ` ${error['message']}` : ''
}

/** Returns an error's stack for below its line: the person watching can fix a tool that threw. */
function stackText(level: number, error: unknown, colour: Paint): string {
  const stack = isJsonObject(error) && level >= 50 ? error['stack'] : undefined
  if (typeof stack !== 'string') return ''
  const frames = stack.split('\n').filter((frame) => /^ +at /.test(frame))
  return frames.map((frame) => `\n          ${colour('dim', plainText(frame.trim()))}`).join('')
}

function localTime(time: unknown): string {
  return new Date(String(time)).toLocaleTimeString('en-GB')
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function colourOfStderr(colour: LogColour, text: string): string {
  return styleText(colour, text, { stream: process.stderr })
}
