import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { readUpstreamDocument, type UpstreamReading, upstreamAt } from '../core/gateway/upstream-document.ts'
import { readSettingFile } from './setting-file-text.ts'

/** The upstream that UPSTREAM names by its URL or by a file, or all faults. Each fault of a file names it. Never throws. */
export function readUpstream(
  given: string,
  environment: Readonly<Record<string, string | undefined>>,
): UpstreamReading {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given)) return upstreamAt(given)
  const file = readSettingFile(given)
  if (file.kind !== 'text') return { kind: 'faulty', faults: [file.fault] }
  const json = readJsonText(file.text)
  if (json.kind === 'invalid') return { kind: 'faulty', faults: [`${given} is not valid JSON${json.place}.`] }
  const reading = readUpstreamDocument(json.value, environment)
  return reading.kind === 'upstream'
    ? reading
    : { kind: 'faulty', faults: reading.faults.map((fault) => `${given}: ${fault}`) }
}
