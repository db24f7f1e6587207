/*
 * Answers that are not quite JSON-RPC. Gateways whose calls then never ended were reported for an agent SDK in Python,
 * the MCP SDKs and a gateway to databases.
 */

const content = '{"content":[{"type":"text","text":"fine"}]}'
const good = `{"jsonrpc":"2.0","id":ID,"result":${content}}`
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

/** The line written, and what the client of a command gets: the text of the result, or the text and code of the error. */
export type AnswerShape = [shape: string, written: string, text: string, code?: number]

/** The beginning of the error for an answer that cannot be read. */
export const unreadable = 'The server sent an answer that cannot be read.'
/** Answers, in latin1, in which ID is the id of the request. */
export const answerShapes: AnswerShape[] = [
  ['an ordinary result', `${good}\n`, 'fine'],
  ['a batch', `[${good}]\n`, 'fine'],
  [
    'a batch with something else before it',
    `[7,{"jsonrpc":"2.0","method":"notifications/x"},${good}]\n`,
    'fine',
  ],
  ['a byte order mark', `\xef\xbb\xbf${good}\n`, 'fine'],
  ['CRLF', `${good}\r\n`, 'fine'],
  ['blank lines around it', `\n  \n${good}\n\n`, 'fine'],
  ['the id as text', `{"jsonrpc":"2.0","id":"ID","result":${content}}\n`, 'fine'],
  ['the id as a float', `{"jsonrpc":"2.0","id":ID.0,"result":${content}}\n`, 'fine'],
  ['the id with an exponent', `{"jsonrpc":"2.0","id":IDe0,"result":${content}}\n`, 'fine'],
  ['no version', `{"id":ID,"result":${content}}\n`, 'fine'],
  ['another version', `{"jsonrpc":2.0,"id":ID,"result":${content}}\n`, 'fine'],
  ['the id last', `{"result":${content},"jsonrpc":"2.0","id":ID}\n`, 'fine'],
  ['error: null', `{"jsonrpc":"2.0","id":ID,"result":${content},"error":null}\n`, 'fine'],
  ['method: null', `{"jsonrpc":"2.0","id":ID,"method":null,"result":${content}}\n`, 'fine'],
  [
    '_meta: null',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}],"_meta":null}}\n`,
    'fine',
  ],
  [
    '_meta: []',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}],"_meta":[]}}\n`,
    'fine',
  ],
  [
    'null for members of content',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine","_meta":null,"annotations":null}],"isError":null,"structuredContent":null}}\n`,
    'fine',
  ],
  ['two results', `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":${content}}\n`, 'fine'],
  [
    'bytes that are not UTF-8',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"\xff"}]}}\n`,
    '\ufffd',
  ],
  [
    '999 levels of nesting',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"fine"}],"x":${nested(990)}}}\n`,
    'fine',
  ],
  ['an error', '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"No."}}\n', 'No.', -32_000],
  [
    'result: null beside an error',
    '{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32000,"message":"No."}}\n',
    'No.',
    -32_000,
  ],
  [
    'a result beside an error',
    `{"jsonrpc":"2.0","id":ID,"result":${content},"error":{"code":-32000,"message":"No."}}\n`,
    'No.',
    -32_000,
  ],
  [
    'data: null in an error',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"No.","data":null}}\n',
    'No.',
    -32_000,
  ],
  [
    'an error with its code as text',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":"-32000","message":"No."}}\n',
    'No.',
    -32_000,
  ],
  [
    'an error with its code as a float',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000.0,"message":"No."}}\n',
    'No.',
    -32_000,
  ],
  [
    'an error with a code that is not an integer',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":1.5,"message":"No."}}\n',
    'No.',
    -32_603,
  ],
  [
    'an error with a code beyond 2^53',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":9007199254740993,"message":"No."}}\n',
    'No.',
    -32_603,
  ],
  ['an error without a code', '{"jsonrpc":"2.0","id":ID,"error":{"message":"No."}}\n', 'No.', -32_603],
  [
    'an error without a message',
    '{"jsonrpc":"2.0","id":ID,"error":{"code":-32000}}\n',
    'The server reported an error without a message.',
    -32_000,
  ],
  ['an error that is a text', '{"jsonrpc":"2.0","id":ID,"error":"No."}\n', 'No.', -32_603],
  [
    'an error that is true',
    '{"jsonrpc":"2.0","id":ID,"error":true}\n',
    'The server reported an error without a message.',
    -32_603,
  ],
  [
    'the id as text in an error',
    '{"jsonrpc":"2.0","id":"ID","error":{"code":-32000,"message":"No."}}\n',
    'No.',
    -32_000,
  ],
  ['result: null', '{"jsonrpc":"2.0","id":ID,"result":null}\n', unreadable, -32_603],
  ['a result that is a text', '{"jsonrpc":"2.0","id":ID,"result":"fine"}\n', unreadable, -32_603],
  ['a result that is an array', '{"jsonrpc":"2.0","id":ID,"result":[]}\n', unreadable, -32_603],
  ['a result that is a number', '{"jsonrpc":"2.0","id":ID,"result":1.0}\n', unreadable, -32_603],
  ['neither result nor error', '{"jsonrpc":"2.0","id":ID}\n', unreadable, -32_603],
  ['error: null and no result', '{"jsonrpc":"2.0","id":ID,"error":null}\n', unreadable, -32_603],
  [
    'an error without an id',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"No."}}\n',
    unreadable,
    -32_603,
  ],
  [
    'an error that has no member id',
    '{"jsonrpc":"2.0","error":{"code":-32700,"message":"No."}}\n',
    unreadable,
    -32_603,
  ],
  ['a result without an id', `{"jsonrpc":"2.0","id":null,"result":${content}}\n`, unreadable, -32_603],
  ['the id of another kind', `{"jsonrpc":"2.0","id":[ID],"result":${content}}\n`, unreadable, -32_603],
  ['an id and then another', `{"jsonrpc":"2.0","id":ID,"id":-7,"result":${content}}\n`, unreadable, -32_603],
  ['an id and then none', `{"jsonrpc":"2.0","id":ID,"result":${content},"id":null}\n`, 'fine'],
  ['half of a line', `{"jsonrpc":"2.0","id":ID,"result":{"content":[\n`, unreadable, -32_603],
  ['half of a line, the id not yet in it', '{"jsonrpc":"2.0","result":{"content":[\n', unreadable, -32_603],
  [
    'half of a line and then the rest',
    `{"jsonrpc":"2.0","id":ID,"result":\n${content}}\n`,
    unreadable,
    -32_603,
  ],
  ['invalid JSON in it', `{"jsonrpc":"2.0","id":ID,"result":{"content":[],"x":NaN}}\n`, unreadable, -32_603],
  [
    'invalid JSON in it, the id first',
    `{"id":ID,"jsonrpc":"2.0","result":{"x":undefined}}\n`,
    unreadable,
    -32_603,
  ],
  [
    'invalid JSON in it, the id last',
    `{"result":{"x":Infinity},"id":ID,"jsonrpc":"2.0"}\n`,
    unreadable,
    -32_603,
  ],
  ['a comma too many', `{"jsonrpc":"2.0","id":ID,"result":{"content":[],}}\n`, unreadable, -32_603],
  [
    'a line break inside of a text',
    `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"a\nb"}]}}\n`,
    unreadable,
    -32_603,
  ],
  ['something that was printed before it', `Loading ... ${good}\n`, unreadable, -32_603],
  ['two answers in one line', `{"jsonrpc":"2.0","id":-7,"result":{}}${good}\n`, unreadable, -32_603],
  ['a log of it before it', `Sending ${good}\n{'jsonrpc': '2.0', 'id': ID}\n${good}\n`, 'fine'],
  ['a batch in a batch', `[[${good}]]\n`, 'fine'],
  [
    'lines of its own for each member',
    `${good.replaceAll(',', ',\n').replace('{', '{\n')}\n`,
    unreadable,
    -32_603,
  ],
  ['quotes of Python', `${good.replaceAll('"', "'")}\n`, unreadable, -32_603],
  ['capitals in its members', `{"jsonrpc":"2.0","Id":ID,"Result":${content}}\n`, unreadable, -32_603],
  ['an id that no request had', `{"jsonrpc":"2.0","id":-ID,"result":${content}}\n`, unreadable, -32_603],
  ['an id between two', `{"jsonrpc":"2.0","id":ID.5,"result":${content}}\n`, unreadable, -32_603],
  [
    'method: null and no JSON',
    `{"jsonrpc":"2.0","method":null,"id":ID,"result":{"x":NaN}}\n`,
    unreadable,
    -32_603,
  ],
  [
    '1001 levels of nesting',
    `{"jsonrpc":"2.0","id":ID,"result":{"x":${nested(1000)}}}\n`,
    unreadable,
    -32_603,
  ],
  [
    '100,000 levels of nesting',
    `{"jsonrpc":"2.0","id":ID,"result":{"x":${nested(100_000)}}}\n`,
    unreadable,
    -32_603,
  ],
  [
    '100,000 levels of nesting in an error',
    `{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"No.","data":${nested(100_000)}}}\n`,
    unreadable,
    -32_603,
  ],
  [
    'deep messages of other kinds before it',
    `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"x":${nested(100_000)}}}\n{"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"x":${nested(100_000)}}}\n${good}\n`,
    'fine',
  ],
  [
    'messages of other kinds before it',
    `{"jsonrpc":"2.0","method":"notifications/message","params":null}\n{"level":"info","id":ID}\n[]\nnull\n"x"\n{}\n${good}\n`,
    'fine',
  ],
]
