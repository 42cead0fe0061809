"""Drawings of layouts for the page: their bases as data, and the script that draws them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ..native.errors import with_visible_controls
from .layouts import Drawing

STYLE = """
#tiles{margin:.3rem 0}#tiles svg{display:block}#tiles text{font:9px ui-monospace,monospace;fill:#111;
text-anchor:middle;pointer-events:none}#tiles rect{stroke:var(--back)}
#tiles .own{stroke:var(--text);stroke-width:2}
"""

# `drawn` has, for each source line, rows [role, extents, element type, bits, bases by name]; `banks` is
# their number and their bytes.
SCRIPT = """
const MOST_ROWS=32,MOST_COLUMNS=64,tile=document.getElementById('tile'),
tiles=document.getElementById('tiles'),said=document.getElementById('said');
function spread(bases){const sizes=Object.values(bases).map(b=>1<<b.length),
flat=Object.values(bases).flat(),all=new Map();
for(let n=0;n<1<<flat.length;n++){let element=0,left=n;const place=[];
flat.forEach((basis,bit)=>{if(n>>bit&1)element^=basis});
for(const size of sizes){place.push(left%size);left=Math.floor(left/size)}
if(!all.has(element))all.set(element,{place,copies:0});else all.get(element).copies++}
return all}
function words(names,at,shown,element){const [role,extents,type,bits]=shown;
const index=[];let left=element;
for(const extent of [...extents].reverse()){index.unshift(left%extent);left=Math.floor(left/extent)}
let text='element ['+index.join(', ')+']: '+names.map((name,i)=>name+' '+at.place[i]).join(', ');
if(names[0]==='offset'){const byte=at.place[0]*bits/8;
text+=', byte '+byte;if(banks)text+=', bank '+bank(at,bits)}
return text+(at.copies?', and '+at.copies+' copies':'')}
const bank=(at,bits)=>Math.floor(at.place[0]*bits/8/banks[1])%banks[0];
function draw(shown){tiles.textContent='';if(!shown)return;const [role,extents,type,bits,bases]=shown;
const names=Object.keys(bases),all=spread(bases),isShared=names[0]==='offset';
const columns=extents[extents.length-1],rows=extents.slice(0,-1).reduce((a,b)=>a*b,1);
const h=Math.min(rows,MOST_ROWS),w=Math.min(columns,MOST_COLUMNS);
const svg=document.createElementNS('http://www.w3.org/2000/svg','svg');
const groups=isShared?(banks?banks[0]:1):1<<bases.warp.length,cells=[];
svg.setAttribute('width',w*20+2);svg.setAttribute('height',h*16+2);svg.setAttribute('role','img');
for(let y=0;y<h;y++)for(let x=0;x<w;x++){const at=all.get(y*columns+x);if(!at)continue;
const group=isShared?(banks?bank(at,bits):0):at.place[2],own=isShared?group:at.place[1]+','+at.place[2];
const cell=document.createElementNS(svg.namespaceURI,'rect'),
label=document.createElementNS(svg.namespaceURI,'text');
for(const [name,value] of [['x',x*20+1],['y',y*16+1],['width',20],['height',16],
['fill','hsl('+Math.round(360*group/groups)+' 60% '+(isShared?75:70+20*(at.place[1]%8)/8)+'%)']])
cell.setAttribute(name,value);
cell.dataset.own=own;label.setAttribute('x',x*20+11);label.setAttribute('y',y*16+12);
label.textContent=isShared?group:at.place[1];
cell.addEventListener('mouseenter',()=>{said.textContent=words(names,at,shown,y*columns+x);
for(const other of cells)other.classList.toggle('own',other.dataset.own===String(own))});
cells.push(cell);svg.append(cell,label)}
tiles.append(svg);const cut=h<rows||w<columns?', of which '+h+' x '+w+' are drawn':'';
said.textContent=role+': '+type+'['+extents.join(', ')+']'+cut+'; '+(isShared?
'colours and numbers are banks':'colours are warps, numbers are lanes')+'. '+
'Point at an element for its place and for what shares its '+(isShared?'bank':'lane')+'.'}
function choose(line){const own=drawn[line]||[];tile.textContent='';
own.forEach((shown,i)=>{const option=document.createElement('option');option.value=i;
option.textContent='line '+line+': '+shown[0];tile.append(option)});
if(own.length){tile.dataset.line=line;draw(own[0])}}
if(tile){tile.addEventListener('change',()=>draw(drawn[tile.dataset.line][tile.value]));
document.addEventListener('click',e=>{const at=e.target.closest('[data-l]');
if(at&&drawn[at.dataset.l])choose(at.dataset.l)});choose(first)}
"""


def section(drawings: list[Drawing]) -> Iterator[str]:
    """The part of the page where layouts are drawn; nothing where there are none."""
    if drawings:
        yield "<h2>Where elements lie</h2>"
        yield "<p>A click on a line above draws the layouts of its tiles.</p>"
        yield '<select id="tile" aria-label="tile of the line"></select><p id="said"></p>'
        yield '<div class="wide" id="tiles"></div>'


def script(drawings: list[Drawing], machine: str) -> str:
    """The script with its data. `machine` is a text that has the target's facts."""
    if not drawings:
        return ""
    by_line: dict[int, list[object]] = {}
    for line, role, tile in drawings:
        row = [with_visible_controls(role), tile.shape, tile.element, tile.bits, dict(tile.bases)]
        by_line.setdefault(line, []).append(row)
    banks = re.search(r"\bbanks = (\d+), bank_bytes = (\d+)", machine)
    facts = {
        "drawn": by_line,
        "banks": [int(banks[1]), int(banks[2])] if banks else None,
        "first": _first(drawings),
    }
    data = "".join(f"const {name}={json.dumps(value)};" for name, value in facts.items())
    return data.replace("<", "\\u003c") + SCRIPT


def _first(drawings: list[Drawing]) -> int:
    """The line that is drawn first: the first with a product, else the one with most layouts."""
    products = [drawing.line for drawing in drawings if drawing.role == "accumulator"]
    lines = [drawing.line for drawing in drawings]
    return products[0] if products else max(lines, key=lines.count)
