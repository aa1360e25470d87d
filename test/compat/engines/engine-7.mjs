/* engine 7, frozen by test/compat/freeze.ts */
var gr=Object.defineProperty;var s=(n,e)=>gr(n,"name",{value:e,configurable:!0});var tn=(n,e)=>{for(var t in e)gr(n,t,{get:e[t],enumerable:!0})};var Wr={};tn(Wr,{API_KEY_BYTES:()=>rt,ARM_OWNERS:()=>Cr,ATTEMPT_MOVES:()=>Sr,BUILT_IN_ROLES:()=>Ia,CALL_KINDS:()=>rn,CONSENT_MOVES:()=>vr,DEFAULT_QUEUE:()=>kt,DEFAULT_QUEUES:()=>Na,DELIVERY_CAUSES:()=>bt,DELIVERY_MOVES:()=>Ir,DELIVERY_OUTCOMES:()=>xt,ERROR_CODES:()=>la,FAULT_POINTS:()=>fa,GhoulsError:()=>y,LONGEST_RESIDENT_DELAY_MS:()=>be,MAX_DELAY_SECONDS:()=>ze,MAX_DEPTH:()=>Me,MAX_FAILURE_MESSAGE:()=>sn,MAX_FAILURE_STACK:()=>kr,MAX_VALUE_BYTES:()=>ge,MOVES:()=>We,NonRetryableError:()=>ee,NotDoneError:()=>xe,ON_EXPIRY:()=>te,OPEN_DELIVERY:()=>Et,PERMISSIONS:()=>un,PUBLICATIONS_BEFORE_ATTENTION:()=>yt,PUBLICATION_DELAYS:()=>ln,PUBLISHER_GRACE_SECONDS:()=>J,QUEUE_NAME:()=>wt,QueueSettings:()=>$a,ROLE_NAME:()=>Sa,RUN_FAILURE_CODES:()=>ht,RUN_MOVES:()=>Er,RandomStream:()=>Pe,SKIP_REASONS:()=>Ta,StepFailedError:()=>fe,TimingSettings:()=>Oa,UnserializableError:()=>L,VERDICTS:()=>mn,afterExpiry:()=>qt,callKey:()=>D,callerOf:()=>Ca,canMove:()=>qr,canonicalText:()=>je,closingsOf:()=>Ct,decideSkip:()=>It,delayAfterFailure:()=>Ra,delayAfterPublication:()=>Da,describeCall:()=>on,describeFailure:()=>S,diagram:()=>La,durationMs:()=>T,formatMessage:()=>ba,formatWake:()=>Ea,idempotencyKeyOf:()=>Le,identityCodec:()=>va,isDecider:()=>Ar,isDuration:()=>pe,isPermission:()=>mt,isRunId:()=>P,isSameDigest:()=>Ne,isTerminalRun:()=>Be,judgeDecision:()=>vt,mintApiKey:()=>da,noFaults:()=>st,noHint:()=>qa,notDone:()=>ca,parkedAs:()=>St,parseApiKey:()=>ot,parseJson:()=>ya,parseMessage:()=>dn,parseWake:()=>ct,permissionsOf:()=>ft,principalIssues:()=>Aa,queueUrlVariable:()=>Pa,resolveBackoff:()=>_t,retryDelayMs:()=>Ge,serialize:()=>H,sha256:()=>E,sourcesOf:()=>ne,sqlStates:()=>I,statesOf:()=>N,terminalStatesOf:()=>Ke,wire:()=>Dt});import{timingSafeEqual as ia}from"node:crypto";import{crc32 as sa}from"node:zlib";import{createHash as oa}from"node:crypto";function E(n){return oa("sha256").update(n,"utf8").digest("hex")}s(E,"sha256");var aa=/^(ghouls_([0-9a-f]{16})_[0-9A-Za-z]{43})([0-9A-Za-z]{6})$/,tt=8,rt=tt+32;function da(n){if(n.length!==rt)throw new TypeError(`a key is made of ${rt} random bytes`);let e=Buffer.from(n.subarray(0,tt)).toString("hex"),t=hr(BigInt(`0x${Buffer.from(n.subarray(tt)).toString("hex")}`),43),r=`ghouls_${e}_${t}`,o=`${r}${_r(r)}`;return{keyId:e,text:o,digest:yr(o)}}s(da,"mintApiKey");function ot(n){let[,e,t,r]=aa.exec(n)??[];if(!(e===void 0||t===void 0||_r(e)!==r))return{keyId:t,digest:yr(n)}}s(ot,"parseApiKey");function yr(n){return E(n)}s(yr,"digestOfKey");function Ne(n,e){let[t,r]=[Buffer.from(n),Buffer.from(e)];return t.length===r.length&&ia(t,r)}s(Ne,"isSameDigest");function _r(n){return hr(BigInt(sa(n)),6)}s(_r,"checksumOf");var ua="0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";function hr(n,e){let t="";for(let r=n;t.length<e;r/=62n)t=`${ua[Number(r%62n)]}${t}`;return t}s(hr,"base62");import{createHash as wr}from"node:crypto";var rn=["step","consent","sleep","signal"];function D(n){return JSON.stringify([n.epoch,n.scope,n.kind,n.name,n.nth])}s(D,"callKey");function on(n){let e=n.nth===1?"":` (use ${n.nth})`,t=n.scope===""?"":` in ${n.scope}`;return`${n.kind} "${n.name}"${e}${t}`}s(on,"describeCall");function Le(n,e){return wr("sha256").update(`ghouls-step-1
${n}
${D(e)}`).digest("hex")}s(Le,"idempotencyKeyOf");var Pe=class{static{s(this,"RandomStream")}#e;#t=0;constructor(e,t,r){this.#e=`ghouls-random-1
${JSON.stringify([e,t,r])}`}#n(){return this.#t+=1,wr("sha256").update(`${this.#e}
${this.#t}`).digest()}random(){return Number(this.#n().readBigUInt64BE()>>11n)/2**53}uuid(){let e=this.#n().subarray(0,16);e[6]=e[6]&15|64,e[8]=e[8]&63|128;let t=e.toString("hex");return`${t.slice(0,8)}-${t.slice(8,12)}-${t.slice(12,16)}-${t.slice(16,20)}-${t.slice(20)}`}};var la=["invalid_request","malformed_json","unknown_workflow","unknown_queue","input_invalid","too_large","idempotency_conflict","admission_busy","not_found","unauthenticated","forbidden","hold_ended","run_ended","consent_closed","consent_changed","not_a_decider","too_many_signals","wrong_transaction","configuration_invalid","schema_outdated","integrity_fault","ledger_unavailable","outcome_unknown","queue_unavailable","internal"],y=class extends Error{static{s(this,"GhoulsError")}code;fix;issues;retryAfterSeconds;constructor(e,t,r={}){super(t,r.cause===void 0?void 0:{cause:r.cause}),this.name="GhoulsError",this.code=e,this.fix=r.fix,this.issues=r.issues,this.retryAfterSeconds=r.retryAfterSeconds}},ee=class extends Error{static{s(this,"NonRetryableError")}constructor(e,t){super(e,t),this.name="NonRetryableError"}},xe=class extends Error{static{s(this,"NotDoneError")}constructor(e){super(e instanceof Error?e.message:String(e),{cause:e}),this.name="NotDoneError"}};function ca(n){return new xe(n)}s(ca,"notDone");var fe=class extends Error{static{s(this,"StepFailedError")}step;tries;failure;constructor(e,t,r){super(`step "${e}" failed after ${t===1?"1 try":`${t} tries`}: ${r.message}`),this.name="StepFailedError",this.step=e,this.tries=t,this.failure=r}},sn=2e3,kr=6e3;function S(n){try{if(n instanceof Error){let t=typeof n.stack=="string"?Te(n.stack,kr):void 0;return{name:Te(String(n.name),200),message:Te(String(n.message),sn),...t===void 0?{}:{stack:t}}}if(typeof n=="string")return{name:"Error",message:Te(`a string was thrown: ${n}`,sn)};if(n==null)return{name:"Error",message:`${String(n)} was thrown, not an Error`};let e=JSON.stringify(n,(t,r)=>typeof r=="bigint"?String(r):r);return{name:"Error",message:Te(`a value that is no Error was thrown: ${e??typeof n}`,sn)}}catch{return{name:"Error",message:`a value of type ${typeof n} that cannot be described was thrown`}}}s(S,"describeFailure");function Te(n,e){return n.length<=e?n.toWellFormed():`${n.slice(0,e).toWellFormed()}\u2026 (${n.length-e} more characters)`}s(Te,"bounded");var it={ms:1,s:1e3,m:6e4,h:36e5,d:864e5},ma=3650*it.d;function pe(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);return e===null?!1:Number(e[1])*it[e[2]]<=ma}s(pe,"isDuration");function T(n){let e=/^(\d{1,12})(ms|s|m|h|d)$/.exec(n);if(e===null||!pe(n))throw new y("configuration_invalid",`"${String(n).slice(0,40)}" is not a duration`,{fix:'Write a whole number and a unit, such as "500ms", "90s", "15m", "2h" or "3d" (at most ten years).'});return Number(e[1])*it[e[2]]}s(T,"durationMs");var fa=["ledger.before-statement","ledger.after-statement","ledger.before-commit","ledger.after-commit","secrets.before-read","secrets.after-read","queue.before-publish","queue.after-publish","queue.before-receive","queue.after-receive","queue.before-visibility","queue.after-visibility","queue.before-delete","queue.after-delete","admission.after-commit","admission.after-publish","worker.after-claim","worker.before-beat","worker.before-intent","worker.after-intent","worker.before-step","worker.after-step","worker.after-journal","worker.before-handover","worker.before-adopt","worker.before-park","worker.after-park","worker.before-restart","worker.after-restart","worker.after-wake","timers.after-select","timers.after-resume","deadlines.after-select","deadlines.after-failure","consents.after-commit","consents.after-select","consents.after-look","signals.after-commit","worker.after-handover","worker.before-settle","worker.after-settle","relay.after-select","relay.after-publish","reanimation.after-select","reanimation.after-judgement","containment.after-select","containment.after-look","holds.after-select","holds.after-expiry","hint.before-read","hint.after-read","hint.before-lower","hint.after-lower","hint.before-raise","hint.after-raise"],st=s(()=>{},"noFaults");var Me=100,pa=new Set(["__proto__","constructor","prototype"]),ut=JSON,ga=JSON.parse;function ya(n){if(_a(n)>Me)throw new y("malformed_json",`the document is nested more than ${Me} levels deep`,{fix:"Flatten the document, or send it as one string."});let e;try{e=ga(n,(r,o,i)=>typeof o=="number"?ut.rawJSON(i.source??String(o)):o)}catch(r){throw new y("malformed_json",`the document is not valid JSON: ${r.message.slice(0,200)}`,{fix:"Send one JSON document in UTF-8."})}let t=[];if(at(e,"",t),t.length>0)throw new y("invalid_request","the document holds values that cannot be kept unchanged",{issues:t,fix:"Send large numbers as strings, and text without NUL and lone surrogates."});return{value:JSON.parse(n),canonical:je(e),member:s(r=>{if(!(typeof e!="object"||e===null||!Object.hasOwn(e,r)))return je(e[r])},"member")}}s(ya,"parseJson");function _a(n){let e=0,t=0,r=!1;for(let o=0;o<n.length;o+=1){let i=n.charCodeAt(o);r?i===92?o+=1:i===34&&(r=!1):i===34?r=!0:i===91||i===123?t=Math.max(t,e+=1):(i===93||i===125)&&(e-=1)}return t}s(_a,"nestingOf");function at(n,e,t){if(!(t.length>=20)){if(typeof n=="string"){let r=xr(n);r!==void 0&&t.push({path:e,message:r});return}if(!(typeof n!="object"||n===null)){if(ut.isRawJSON(n)){let r=Number(JSON.stringify(n));Math.abs(r)>Number.MAX_SAFE_INTEGER&&t.push({path:e,message:"a number beyond 2^53 - 1 would not come back unchanged; send it as a string"});return}if(Array.isArray(n)){n.forEach((r,o)=>at(r,`${e}/${o}`,t));return}for(let[r,o]of Object.entries(n)){let i=`${e}/${r.slice(0,100).toWellFormed()}`;pa.has(r)&&t.push({path:i,message:"this key is not allowed"});let a=xr(r);a!==void 0&&t.push({path:i,message:`the key: ${a}`}),at(o,i,t)}}}}s(at,"inspect");function xr(n){if(n.includes("\0"))return"text with a NUL character is not taken";if(!n.isWellFormed())return"text with a lone surrogate is not taken"}s(xr,"textProblem");function je(n){return JSON.stringify(dt(n))}s(je,"canonicalText");function dt(n){if(typeof n!="object"||n===null||ut.isRawJSON(n))return n;if(Array.isArray(n))return n.map(dt);let e=Object.entries(n).toSorted(([t],[r])=>t<r?-1:1);return Object.fromEntries(e.map(([t,r])=>[t,dt(r)]))}s(dt,"sorted");var L=class extends Error{static{s(this,"UnserializableError")}reason;constructor(e,t){super(t),this.name="UnserializableError",this.reason=e}},ge=1048576;function H(n,e=ge){if(n===void 0)return;let t;try{t=JSON.stringify(an(n,"",[]))}catch(o){throw o instanceof L?o:new L("unserializable",`it cannot be turned into JSON: ${S(o).message.slice(0,500)}`)}let r=Buffer.byteLength(t);if(r>e)throw new L("too_large",`it is ${r} bytes of JSON, the limit is ${e}`);return t}s(H,"serialize");function an(n,e,t){let r=e===""?"the value":`the value at ${e}`,o=s(d=>new L("unserializable",`${r} is ${d}, which JSON cannot hold`),"refuse");switch(typeof n){case"string":case"boolean":return n;case"number":if(!Number.isFinite(n))throw o(String(n));return n;case"undefined":case"bigint":case"symbol":case"function":throw o(`a value of type ${typeof n}`);case"object":}if(n===null)return null;if(t.includes(n))throw o("a cycle");if(t.length>Me)throw o(`nested more than ${Me} levels deep`);let i=[...t,n];if(n instanceof Date&&Number.isNaN(n.getTime()))throw o("an invalid Date");if("toJSON"in n&&typeof n.toJSON=="function"){let d=n.toJSON("");if(d===n)throw o("a cycle of toJSON");return an(d,e,i)}if(Array.isArray(n))return Array.from(n,(d,u)=>an(d,`${e}/${u}`,i));if(!ha(n))throw o(`a ${n.constructor?.name??"class instance"}`);let a={};for(let[d,u]of Object.entries(n))u!==void 0&&Object.defineProperty(a,d,{value:an(u,`${e}/${d.slice(0,100)}`,i),enumerable:!0,configurable:!0,writable:!0});return a}s(an,"plain");function ha(n){let e=Object.getPrototypeOf(n);return e===null||e===Object.prototype?!0:Object.getPrototypeOf(e)===null&&n.constructor?.name==="Object"}s(ha,"isPlainObject");var lt="[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",wa=new RegExp(`^${lt}$`),ka=new RegExp(`^run:(${lt}):([1-9]\\d{0,8})$`),xa=new RegExp(`^wake:(${lt})$`);function P(n){return wa.test(n)}s(P,"isRunId");function ba(n){return`run:${n.runId}:${n.enqueueSeq}`}s(ba,"formatMessage");function dn(n){let e=ka.exec(n);if(e!==null)return{runId:e[1],enqueueSeq:Number(e[2])}}s(dn,"parseMessage");function Ea(n){return`wake:${n}`}s(Ea,"formatWake");function ct(n){return xa.exec(n)?.[1]}s(ct,"parseWake");var un=["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","consents:decide","workflows:read"],Ia={admin:un,operator:["runs:submit","runs:read","runs:release","runs:cancel","runs:resolve","runs:clear","signals:send","consents:read","workflows:read"],submitter:["runs:submit","runs:read","runs:release","runs:cancel","signals:send","consents:read","workflows:read"],decider:["runs:read","consents:read","consents:decide","workflows:read"],viewer:["runs:read","consents:read","workflows:read"]},Sa=/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;function mt(n){return un.includes(n)}s(mt,"isPermission");function ft(n,e){let t=n.roles.flatMap(o=>Object.hasOwn(e,o)?e[o]??[]:[]),r=new Set([...t,...n.permissions??[]]);return un.filter(o=>r.has(o))}s(ft,"permissionsOf");var va={encode:s(n=>Promise.resolve(n),"encode"),decode:s(n=>Promise.resolve(n),"decode")},ze=900,qa={keeps:!1,read:s(()=>Promise.resolve(void 0),"read"),lower:s(()=>Promise.resolve(),"lower"),raise:s(()=>Promise.resolve(!1),"raise")};function Ca(n,e){let{tenantId:t,subject:r}=n;return{tenantId:t,subject:r,roles:n.roles,permissions:ft(n,e)}}s(Ca,"callerOf");function Aa(n){let e=typeof n=="object"&&n!==null?n:{},t=s((r,o)=>({path:`/principal/${r}`,message:o}),"issue");return[...["tenantId","subject"].filter(r=>typeof e[r]!="string"||e[r]==="").map(r=>t(r,"is missing")),...br(e.roles)?[]:[t("roles","is no list of names")],...e.permissions===void 0||br(e.permissions)?[]:[t("permissions","is no list of names")]]}s(Aa,"principalIssues");function br(n){return Array.isArray(n)&&n.every(e=>typeof e=="string")}s(br,"isTexts");var J=15,pt=[60,120,300,600,1800,3600],gt=[5,10,30,60,120,300],yt=5;function Da(n){return pt[Math.min(Math.max(n,1),pt.length)-1]}s(Da,"delayAfterPublication");function Ra(n){return gt[Math.min(Math.max(n,1),gt.length)-1]}s(Ra,"delayAfterFailure");var ln={afterSuccess:pt,afterFailure:gt};var be=1e4;function _t(n={}){let e=T(n.initial??"200ms"),t={initialMs:e,factor:n.factor??2,maxMs:n.max===void 0?Math.max(be,e):T(n.max)};if(!(t.factor>=1&&t.factor<=100))throw new y("configuration_invalid",`a backoff factor of ${String(n.factor)} is not taken`,{fix:"Give a factor from 1 to 100."});return t}s(_t,"resolveBackoff");function Ge(n,e,t){let r=Math.min(n.maxMs,n.initialMs*n.factor**(e-2));return Math.round(r/2+r/2*t)}s(Ge,"retryDelayMs");var ht=["workflow_failed","step_failed","workflow_changed","journal_mismatch","duplicate_call","invalid_call","input_invalid","output_invalid","unserializable","too_large","deadline","out_of_time","no_progress","ghoul_lost","effect_unknown","hold_expired"];import*as Y from"zod";var Fe=Y.string().refine(n=>pe(n),'write a whole number and a unit, such as "90s" or "15m"'),wt=/^[a-z][a-z0-9-]{0,31}$/,$a=Y.strictObject({batchSize:Y.int().min(1).max(10).default(5),concurrency:Y.int().min(1).max(1e3).default(2),functionTimeout:Fe.refine(n=>!pe(n)||T(n)>=5e3&&T(n)<=432e5,'from "5s" to "12h"').default("15m")}),Oa=Y.strictObject({lease:Fe.default("120s"),beat:Fe.default("30s"),actsMargin:Fe.default("60s"),maxLosses:Y.int().min(1).max(100).default(3),deployOverlap:Fe.default("1h")}),Na={runs:{batchSize:5,concurrency:2},rites:{batchSize:1,concurrency:2}},kt="runs";function Pa(n){return`GHOULS_QUEUE_${n.toUpperCase().replaceAll("-","_")}_URL`}s(Pa,"queueUrlVariable");var Ue=["QUEUED","FAILING","CANCELLING"],Er={QUEUED:["RUNNING","FAILING","CANCELLING"],RUNNING:["AWAITING_HARDWARE","AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER","QUEUED","COMPLETING","DONE","FAILING","FAILED","CANCELLING"],AWAITING_HARDWARE:["RUNNING","QUEUED","FAILING","CANCELLING"],AWAITING_CONSENT:Ue,AWAITING_DELEGATE:Ue,AWAITING_CHILD:Ue,AWAITING_SIGNAL:Ue,AWAITING_TIMER:Ue,COMPLETING:["DONE"],FAILING:["FAILED"],CANCELLING:["CANCELLED"],DONE:[],FAILED:[],CANCELLED:[]},Ir={HELD:["PENDING","FENCED"],PENDING:["CLAIMED","FENCED"],CLAIMED:["SETTLED","FENCED"],SETTLED:[],FENCED:[]},cn=["SUCCEEDED","FAILED","CANCELLED"],Sr={DEFINED:["SUBMITTING","CANCELLED"],SUBMITTING:["SUBMITTED","RUNNING",...cn,"UNCERTAIN"],SUBMITTED:["RUNNING",...cn,"UNCERTAIN"],RUNNING:[...cn,"UNCERTAIN"],UNCERTAIN:["SUBMITTING","SUBMITTED","RUNNING",...cn],SUCCEEDED:[],FAILED:[],CANCELLED:[]},vr={PENDING:["GRANTED","DENIED","EXPIRED","CANCELLED"],GRANTED:[],DENIED:[],EXPIRED:[],CANCELLED:[]},We={run:Er,delivery:Ir,attempt:Sr,consent:vr},xt=["done","failed","parked","continued","lost","given_back","refused"],bt=["admitted","resumed","continued","recovered","contain"];function N(n){return Object.keys(We[n])}s(N,"statesOf");function qr(n,e,t){return We[n][e]?.includes(t)??!1}s(qr,"canMove");function ne(n,e){return N(n).filter(t=>qr(n,t,e))}s(ne,"sourcesOf");function Ke(n){return N(n).filter(e=>(We[n][e]??[]).length===0)}s(Ke,"terminalStatesOf");var Et=N("delivery").filter(n=>!Ke("delivery").includes(n));function Be(n){return Ke("run").includes(n)}s(Be,"isTerminalRun");function I(n){for(let e of n)if(!/^[A-Z_]+$/.test(e))throw new TypeError(`not a state: ${e}`);return n.map(e=>`'${e}'`).join(", ")}s(I,"sqlStates");function La(n){let e=Object.entries(We[n]).flatMap(([t,r])=>r.length===0?[`    ${t} --> [*]`]:r.map(o=>`    ${t} --> ${o}`));return["stateDiagram-v2",`    [*] --> ${N(n)[0]}`,...e].join(`
`)}s(La,"diagram");var Ta=["unknown","terminal","settled","fenced","superseded","held","early","claimed","paused","quarantined","ending","contended"],Ma=43e3,Ee=s(n=>({reason:n,deleteMessage:!0,retryInSeconds:0}),"gone"),Ie=s((n,e)=>({reason:n,deleteMessage:!1,retryInSeconds:Math.min(Ma,Math.max(1,Math.ceil(e)))}),"back");function It(n){return n===void 0?Ie("unknown",30):Be(n.runStatus)?Ee("terminal"):n.deliveryStatus==="SETTLED"?Ee("settled"):n.deliveryStatus==="FENCED"?Ee("fenced"):n.seq<n.currentSeq?Ee("superseded"):n.deliveryStatus==="CLAIMED"?Ie("claimed",Math.max(5,n.leaseEndsInSeconds??30)):n.deliveryStatus==="HELD"?Ie("held",30):n.quarantined?Ee("quarantined"):n.paused?Ee("paused"):n.runStatus!=="QUEUED"&&n.cause!=="contain"?Ie("ending",30):n.dueInSeconds>0?Ie("early",n.dueInSeconds):Ie("contended",2)}s(It,"decideSkip");var te=["expire","grant","deny"],mn=["grant","deny"],Cr=["consent","signal","timer"],ja={consent:"AWAITING_CONSENT",signal:"AWAITING_SIGNAL",timer:"AWAITING_TIMER"};function St(n){let e=Cr.find(t=>n.includes(t));if(e===void 0)throw new TypeError("a run is parked on at least one arm");return ja[e]}s(St,"parkedAs");function vt(n,e,t=!1){if(!t){if(!Ar(n.deciders,e))return{kind:"not_a_decider"};if(e.subject===n.requestedBy&&!n.requesterMayDecide)return{kind:"requester"}}if(e.digest!==n.requestDigest)return{kind:"changed"};let r=n.decisions.find(({by:i})=>i===e.subject);if(r?.verdict===e.verdict)return{kind:"repeated",status:n.status};if(n.status!=="PENDING")return{kind:"closed",status:n.status,by:n.closedBy??"unknown"};if(n.expired)return{kind:"expired"};if(r!==void 0)return{kind:"contradicts",verdict:r.verdict};if(e.verdict==="deny")return{kind:"counts",becomes:"DENIED"};let o=n.decisions.filter(({verdict:i})=>i==="grant").length+1;return{kind:"counts",becomes:t||o>=n.quorum?"GRANTED":"PENDING"}}s(vt,"judgeDecision");function Ar(n,e){return n.includes(e.subject)||e.roles.some(t=>n.includes(`role:${t}`))}s(Ar,"isDecider");function qt(n){return n==="grant"?"GRANTED":n==="deny"?"DENIED":"EXPIRED"}s(qt,"afterExpiry");function Ct(n){let e=new Set;return n.flatMap(t=>{let{armId:r,consent:o}=t;if(o!==void 0){if(o.status==="PENDING"||o.status==="CANCELLED")return[];let{consentId:d,status:u,closedBy:l,decisions:m}=o;return[{armId:r,resultText:JSON.stringify({outcome:u,consentId:d,by:l??"unknown",decisions:m})}]}let i=t.signals?.find(({signalId:d})=>!e.has(d));if(i!==void 0){e.add(i.signalId);let{signalId:d,from:u,at:l,payload:m}=i;return[{armId:r,signalId:d,resultText:JSON.stringify({outcome:"RECEIVED",payload:m,from:u,at:l})}]}if(!t.due)return[];if(t.retry)return[{armId:r,resultText:null}];let a=t.owner==="signal"?"TIMED_OUT":"ELAPSED";return[{armId:r,resultText:JSON.stringify({outcome:a})}]})}s(Ct,"closingsOf");var Dt={};tn(Dt,{Admitted:()=>Lr,BatchAdmitted:()=>Wa,BatchItem:()=>Pr,BatchOutcome:()=>Tr,BatchRequest:()=>Ua,Cancelled:()=>Ha,Cleared:()=>Va,ConsentPage:()=>Qa,ConsentView:()=>zr,ContainmentItem:()=>jr,Decided:()=>Xa,DecisionRequest:()=>Ya,IdempotencyKey:()=>Or,MAX_BATCH:()=>Rr,MAX_BODY_BYTES:()=>za,MAX_PAGE:()=>Ga,OpenWait:()=>Gr,Problem:()=>sd,ReasonRequest:()=>Ba,Released:()=>Ka,Resolved:()=>Ja,RunError:()=>Mr,RunPage:()=>rd,RunRequest:()=>Nr,RunSummary:()=>At,RunView:()=>td,SIGNAL_NAME:()=>Za,SignalRequest:()=>ed,Signalled:()=>nd,Timeline:()=>od,TimelineEntry:()=>Fr,WORKFLOW_NAME:()=>$r,WorkflowList:()=>id,WorkflowRef:()=>fn,WorkflowView:()=>Ur});import*as c from"zod";var za=1048576,Rr=100,Ga=200,q=c.iso.datetime(),$r=/^[a-z0-9][a-z0-9._-]{0,99}$/i,Fa=c.string().regex($r,'letters, digits, ".", "_" and "-", at most 100'),Or=c.string().min(1).max(200).regex(/^[\x21-\x7e]+$/,"printable ASCII without spaces"),Nr=c.strictObject({workflow:Fa.optional(),version:c.int().min(1).max(1e6).optional(),input:c.unknown().optional(),queue:c.string().regex(wt).optional(),priority:c.int().min(0).max(9).optional(),agent:c.string().min(1).max(200).optional(),held:c.boolean().optional(),holdFor:c.string().refine(pe,'such as "10m"').optional()}),Pr=Nr.extend({idempotencyKey:Or.optional()}),Ua=c.strictObject({runs:c.array(Pr).min(1).max(Rr)}),fn=c.object({name:c.string(),version:c.int(),digest:c.string()}),Lr=c.object({runId:c.string(),created:c.boolean(),status:c.enum(N("run")),enqueueSeq:c.int(),workflow:fn,queue:c.string(),priority:c.int(),held:c.boolean()}),Tr=c.discriminatedUnion("outcome",[c.object({outcome:c.literal("admitted"),run:Lr}),c.object({outcome:c.literal("conflict"),idempotencyKey:c.string(),detail:c.string()})]),Wa=c.object({runs:c.array(Tr)}),Ka=c.object({runId:c.string(),enqueueSeq:c.int(),released:c.boolean()}),Dr=c.object({reason:c.string(),at:q}),At=c.object({runId:c.string(),workflow:fn,status:c.enum(N("run")),queue:c.string(),priority:c.int(),agent:c.string().nullable(),idempotencyKey:c.string().nullable(),requestedBy:c.string(),enqueueSeq:c.int(),steps:c.int(),errorCode:c.string().nullable(),attention:Dr.nullable(),quarantine:Dr.nullable(),pausedAt:q.nullable(),deadlineAt:q.nullable(),createdAt:q,startedAt:q.nullable(),finishedAt:q.nullable()}),Mr=c.object({code:c.enum(ht),name:c.string(),message:c.string(),stack:c.string().optional(),step:c.string().optional()}),jr=c.object({id:c.string(),kind:c.enum(["worker","effect"]),subject:c.string(),enqueueSeq:c.int(),overAt:q.nullable(),createdAt:q,acknowledgedAt:q.nullable(),acknowledgedBy:c.string().nullable(),acknowledgement:c.string().nullable()}),Ba=c.strictObject({reason:c.string().trim().min(1).max(1e3)}),Ha=c.object({runId:c.string(),cancelled:c.boolean(),status:c.enum(N("run"))}),Ja=c.object({runId:c.string(),item:c.string(),openItems:c.int(),status:c.enum(N("run"))}),Va=c.object({runId:c.string(),cleared:c.boolean(),status:c.enum(N("run"))}),zr=c.object({consentId:c.string(),runId:c.string(),workflow:c.string(),title:c.string(),status:c.enum(N("consent")),digest:c.string(),detail:c.unknown(),deciders:c.array(c.string()),quorum:c.int(),requestedBy:c.string(),requesterMayDecide:c.boolean(),onExpiry:c.enum(te),source:c.string().nullable(),createdAt:q,expiresAt:q.nullable(),closedAt:q.nullable(),closedBy:c.string().nullable(),decisions:c.array(c.object({by:c.string(),verdict:c.enum(mn),at:q,comment:c.string().nullable()}))}),Qa=c.object({consents:c.array(zr),nextCursor:c.string().nullable()}),Ya=c.strictObject({verdict:c.enum(mn),digest:c.string().min(1).max(200),comment:c.string().trim().min(1).max(4e3).optional()}),Xa=c.object({consentId:c.string(),runId:c.string(),status:c.enum(N("consent")),repeated:c.boolean(),resumed:c.boolean()}),Za=/^[\x21-\x7e][\x20-\x7e]{0,199}$/,ed=c.strictObject({payload:c.unknown().optional()}),nd=c.object({runId:c.string(),signalId:c.string(),repeated:c.boolean(),resumed:c.boolean()}),Gr=c.object({kind:c.enum(rn),name:c.string(),dueAt:q.nullable(),consentId:c.string().nullable()}),td=At.extend({waits:c.array(Gr),input:c.unknown(),output:c.unknown(),error:Mr.nullable(),containment:c.array(jr)}),rd=c.object({runs:c.array(At),nextCursor:c.string().nullable()}),Fr=c.discriminatedUnion("kind",[c.object({kind:c.literal("admitted"),at:q}),c.object({kind:c.literal("delivery"),at:q,enqueueSeq:c.int(),cause:c.enum(bt),status:c.enum(N("delivery")),dueAt:q}),c.object({kind:c.literal("published"),at:q,enqueueSeq:c.int(),publications:c.int()}),c.object({kind:c.literal("claimed"),at:q,enqueueSeq:c.int(),worker:c.string()}),c.object({kind:c.literal("step"),at:q,enqueueSeq:c.int(),ordinal:c.int(),call:c.enum(rn),name:c.string(),nth:c.int(),outcome:c.enum(["ok","error"]),tries:c.int(),startedAt:q}),c.object({kind:c.literal("worker_ended"),at:q,enqueueSeq:c.int(),worker:c.string(),how:c.string()}),c.object({kind:c.literal("settled"),at:q,enqueueSeq:c.int(),outcome:c.enum(xt)}),c.object({kind:c.literal("fenced"),at:q,enqueueSeq:c.int()}),c.object({kind:c.literal("finished"),at:q,status:c.enum(N("run")),errorCode:c.string().nullable()})]),od=c.object({runId:c.string(),status:c.enum(N("run")),entries:c.array(Fr)}),Ur=fn.extend({queue:c.string(),onWorkerLoss:c.enum(["resume","fail"]),inputSchema:c.unknown(),outputSchema:c.unknown()}),id=c.object({workflows:c.array(Ur)}),sd=c.object({type:c.string(),title:c.string(),status:c.int(),detail:c.string(),fix:c.string().optional(),requestId:c.string(),errors:c.array(c.object({path:c.string(),message:c.string()})).optional()});var Ki={};tn(Ki,{DEFAULT_APPLICATION_ROLE:()=>Yt,DEFAULT_SCHEMA:()=>Se,DRIVERS:()=>eo,LedgerError:()=>v,MAX_BUFFERED_SIGNALS:()=>Ze,createRoles:()=>Wi,executorOn:()=>yn,inCallersTransaction:()=>_n,migrate:()=>Fi,migrationSql:()=>Gi,openLedger:()=>Ti,readRunsById:()=>pn,readRunsByKey:()=>qe,rolesSql:()=>Zt});var Kr=new Map,Se="ghouls",ad=/^[a-z_][a-z0-9_]{0,39}$/;function _(n,e){return Br({name:n,text:Hr(n,e),writes:!1})}s(_,"readStatement");function g(n,e){return Br({name:n,text:Hr(n,e),writes:!0})}s(g,"writeStatement");function Br(n){if(Kr.has(n.name))throw new TypeError(`two statements are called ${n.name}`);return Kr.set(n.name,n),n}s(Br,"listed");function Hr(n,e){return`/* ${n} */
${e.trim()}`}s(Hr,"tagged");function ve(n,e){if(!ad.test(n))throw new TypeError(`${e} "${n.slice(0,60)}" is not taken: use lower-case letters, digits and "_", at most 40`)}s(ve,"assertIdentifier");function ye(n,e){return ve(e,"the schema name"),n.replace(/\bghouls\./g,`${e}.`)}s(ye,"bindSchema");function p(n){let e=s((a,d)=>new TypeError(`column ${a} is ${typeof n[a]}, ${d} was expected`),"fail"),t=s(a=>{let d=n[a];if(typeof d!="string")throw e(a,"text");return d},"text"),r=s(a=>{let d=n[a],u=typeof d=="string"?Number(d):d;if(typeof u!="number"||!Number.isFinite(u))throw e(a,"a number");return u},"number"),o=s(a=>{let d=n[a];if(!(d instanceof Date))throw e(a,"a time");return d},"date"),i=s(a=>d=>n[d]===null?null:a(d),"orNull");return{text:t,textOrNull:i(t),texts:s(a=>{let d=n[a];if(!Array.isArray(d)||!d.every(u=>typeof u=="string"))throw e(a,"a list of texts");return d},"texts"),number:r,numberOrNull:i(r),boolean:s(a=>{let d=n[a];if(typeof d!="boolean")throw e(a,"a boolean");return d},"boolean"),date:o,dateOrNull:i(o)}}s(p,"rows");var dd=g("runs.admit",`
with bound as materialized (
  select set_config('lock_timeout', $1::text, true) as lock_timeout
), request as materialized (
  select t.* from bound, unnest(
    $2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::integer[], $8::text[], $9::text[], $10::smallint[],
    $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::double precision[], $17::boolean[],
    $18::double precision[], $20::text[]
  ) with ordinality as t(tenant_id, run_id, idempotency_key, request_digest, workflow_name, workflow_version, workflow_digest, queue,
    priority, agent, requested_by, requested_roles, input_text, input_digest, deadline_ms, held, hold_ms, on_worker_loss, position)
  where bound.lock_timeout is not null
  order by t.tenant_id, t.idempotency_key, t.position
), run as (
  insert into ghouls.runs (tenant_id, run_id, first_run_id, idempotency_key, request_digest, workflow_name,
    workflow_version, workflow_digest, queue, priority, agent, requested_by, requested_roles, status, enqueue_seq,
    input_text, input_digest, deadline_at, created_at, on_worker_loss)
  select q.tenant_id, q.run_id, q.run_id, q.idempotency_key, q.request_digest, q.workflow_name, q.workflow_version,
    q.workflow_digest, q.queue, q.priority, q.agent, q.requested_by,
    array(select jsonb_array_elements_text(q.requested_roles::jsonb)), 'QUEUED', 1, q.input_text, q.input_digest,
    ghouls.clock() + q.deadline_ms * interval '1 millisecond', ghouls.clock(), q.on_worker_loss
  from request q
  on conflict do nothing
  returning tenant_id, run_id, enqueue_seq, queue, priority
), delivery as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, hold_expires_at,
    next_publication_at, created_at)
  select run.tenant_id, run.run_id, run.enqueue_seq, 'admitted', case when q.held then 'HELD' else 'PENDING' end,
    run.queue, run.priority, ghouls.clock(),
    case when q.held then ghouls.clock() + q.hold_ms * interval '1 millisecond' end,
    case when not q.held then ghouls.clock() + $19::double precision * interval '1 second' end,
    ghouls.clock()
  from run join request q on q.tenant_id = run.tenant_id and q.run_id = run.run_id
  returning run_id
)
select run_id from delivery`),Jr=`run.tenant_id, run.run_id, run.idempotency_key, run.request_digest, run.workflow_name,
  run.workflow_version, run.workflow_digest, run.queue, run.priority, run.status, run.enqueue_seq,
  d.status = 'HELD' as held, d.status = 'PENDING' and d.published_at is null as unpublished`,ud=_("runs.by-key",`
select ${Jr}
from unnest($1::text[], $2::text[]) as q(tenant_id, idempotency_key)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.idempotency_key = q.idempotency_key
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`),ld=_("runs.by-id",`
select ${Jr}
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq`);async function Rt(n,e,t){let r=s(i=>e.map(i),"column"),o=await n.run(dd,[String(t.lockTimeoutMs),r(i=>i.tenantId),r(i=>i.runId),r(i=>i.idempotencyKey),r(i=>i.requestDigest),r(i=>i.workflow.name),r(i=>i.workflow.version),r(i=>i.workflow.digest),r(i=>i.queue),r(i=>i.priority),r(i=>i.agent),r(i=>i.requestedBy),r(i=>JSON.stringify(i.requestedRoles)),r(i=>i.inputText),r(i=>i.inputDigest),r(i=>i.deadlineMs),r(i=>i.held),r(i=>i.holdMs),t.publisherGraceSeconds,r(i=>i.onWorkerLoss)]);return new Set(o.map(i=>i.run_id))}s(Rt,"insertRunsIfKeyIsNew");async function qe(n,e){return(await n.run(ud,[e.map(r=>r.tenantId),e.map(r=>r.idempotencyKey)])).map(Vr)}s(qe,"readRunsByKey");async function pn(n,e){return(await n.run(ld,[e.map(r=>r.tenantId),e.map(r=>r.runId)])).map(Vr)}s(pn,"readRunsById");function Vr(n){let e=p(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),idempotencyKey:e.textOrNull("idempotency_key"),requestDigest:e.text("request_digest"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},queue:e.text("queue"),priority:e.number("priority"),status:e.text("status"),enqueueSeq:e.number("enqueue_seq"),held:e.boolean("held"),unpublished:e.boolean("unpublished")}}s(Vr,"admittedRun");var cd=g("deliveries.release",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)
update ghouls.deliveries d
set status = 'PENDING', due_at = ghouls.clock(),
  next_publication_at = ghouls.clock() + $3::double precision * interval '1 second'
from r
where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = r.enqueue_seq
  and r.status = 'QUEUED' and d.status = 'HELD' and d.hold_expires_at > ghouls.clock()
returning d.run_id`);async function Qr(n,e,t){return(await n.run(cd,[e.tenantId,e.runId,t])).length===1}s(Qr,"releaseDeliveryIfHeld");var fd={retry:"ledger_unavailable",busy:"admission_busy",unavailable:"ledger_unavailable",unknown:"outcome_unknown",schema:"schema_outdated",defect:"internal"},pd={retry:"Try again.",busy:"Try again: another transaction holds the same key.",unavailable:"Try again once PostgreSQL answers; check DATABASE_URL (or the secret) and the role's limits.",unknown:"Ask again under the same idempotency key: the answer tells whether it was committed.",schema:"Run `ghouls migrate` with the migrator's connection string."};function gd(n,e){let t=(e instanceof y?e.fix:void 0)??pd[n];return t===void 0?{}:{fix:t}}s(gd,"fixOf");var v=class extends y{static{s(this,"LedgerError")}kind;sqlState;statement;constructor(e,t,r,o){super(fd[e],`the ledger could not carry out ${t} (${e}${r?`, SQLSTATE ${r}`:""})`,{...gd(e,o),...e==="defect"||e==="schema"?{}:{retryAfterSeconds:2},cause:o}),this.name="LedgerError",this.kind=e,this.sqlState=r,this.statement=t}},Yr=new Set(["42P05","26000"]),yd=new Set(["40001","40P01",...Yr]),_d=new Set(["25006","53000","53100","53200","53300","57014","25P03"]),hd=new Set(["42P01","42703","42883","3F000"]);function re(n,e){let t=He(n);return t===void 0?{kind:e?"unknown":"unavailable",sqlState:t}:yd.has(t)||gn(n)?{kind:"retry",sqlState:t}:t==="55P03"?{kind:"busy",sqlState:t}:_d.has(t)?{kind:"unavailable",sqlState:t}:t.startsWith("57P")||t.startsWith("08")?{kind:e?"unknown":"unavailable",sqlState:t}:hd.has(t)?{kind:"schema",sqlState:t}:{kind:"defect",sqlState:t}}s(re,"classify");function Xr(n){return n!==void 0&&Yr.has(n)}s(Xr,"isNameRefused");function Zr(n){return/^(?:57P|08)/.test(n)||n==="25P03"||n==="25P04"}s(Zr,"hasEnded");function gn(n){return He(n)==="0A000"&&n instanceof Error&&"routine"in n&&n.routine==="RevalidateCachedQuery"}s(gn,"isPlanStale");function He(n){if(typeof n!="object"||n===null||!("code"in n))return;let{code:e}=n;return typeof e=="string"&&/^[0-9A-Z]{5}$/.test(e)&&/\d/.test(e)?e:void 0}s(He,"sqlStateOf");var wd=_("caller.state",`
select current_setting('transaction_isolation') as isolation, current_setting('lock_timeout') as lock_timeout,
  statement_timestamp() = transaction_timestamp() as begins_transaction`),kd=g("caller.restore","select set_config('lock_timeout', $1::text, true) as lock_timeout");function yn(n,e){return{run:s(async(t,r)=>{try{return(await n.query(ye(t.text,e),[...r])).rows}catch(o){let{kind:i,sqlState:a}=re(o,!1);throw new v(i,t.name,a,o)}},"run")}}s(yn,"executorOn");async function _n(n,e){let[t]=await n.run(wd,[]),r=String(t?.isolation);if(r!=="read committed")throw new y("wrong_transaction",`an admission inside a ${r.toUpperCase()} transaction is refused`,{fix:"Use READ COMMITTED for the transaction that admits."});if(t?.begins_transaction===!0)throw new y("wrong_transaction","this connection is not inside a transaction",{fix:"Send BEGIN first, and COMMIT after your own statements; then publish the receipt."});let o=await e();return await n.run(kd,[String(t?.lock_timeout)]),o}s(_n,"inCallersTransaction");var eo=["pg","neon"];function hn(n){n.on("connect",e=>{e.on("error",()=>{})}),n.on("error",()=>{})}s(hn,"surviveLostConnections");import{createHash as Ad}from"node:crypto";import{parseIntoClientConfig as xd}from"pg-connection-string";function no(n){if(!/^postgres(?:ql)?:\/\//i.test(n))throw $t(/^[a-z][a-z\d+.-]*:\/\//i.test(n)?"has another scheme than postgres://":"is no URL");let e;try{e=xd(n)}catch(t){throw $t(bd(n,t))}if(e.port!==void 0&&!ro(e.port))throw $t(to);return e}s(no,"addressOf");var to="has a port that is no number from 1 to 65535";function bd(n,e){if(e instanceof Error&&"path"in e&&"code"in e)return`names the file ${String(e.path)}, which cannot be read (${String(e.code)})`;let t=/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(n)?.[1]??"",r=/:([^:\]]*)$/.exec(t)?.[1];return r!==void 0&&r!==""&&!ro(Number(r))?to:"cannot be read"}s(bd,"whyUnreadable");function ro(n){return Number.isInteger(n)&&n>=1&&n<=65535}s(ro,"isPort");function $t(n){return new y("configuration_invalid",`the connection string ${n}`,{fix:"Write postgres://user:password@host:port/database, with / ? # % and @ in a password as %2F %3F %23 %25 and %40."})}s($t,"invalid");async function oo(n){let e=await import("@neondatabase/serverless");class t extends e.Client{static{s(this,"Client")}constructor(o){super(o),n!==void 0&&(this.neonConfig.wsProxy=n,this.neonConfig.useSecureWebSocket=!1,this.neonConfig.pipelineTLS=!1,this.neonConfig.pipelineConnect=!1,this.neonConfig.coalesceWrites=!1)}}return r=>{let o=new e.Pool(r);return o.Client=t,hn(o),o}}s(oo,"neonPool");import Ed from"pg";var io=s(n=>{let e=new Ed.Pool(n);return hn(e),e},"openPgPool");var wn=class{static{s(this,"Patience")}#e;#t;#n=new AbortController;constructor(e,t){this.#e=t,this.#t=setTimeout(()=>this.#n.abort(),e)}get over(){return this.#n.signal.aborted}end(){clearTimeout(this.#t)}async allows(e,t=400){if(this.over)return!1;let r=Math.min(t,50*2**(e-1))*(.5+this.#e());return await this.bound(new Promise(o=>setTimeout(o,r))),!this.over}async bound(e){if(this.over)return e;let{signal:t}=this.#n,r,o=new Promise(i=>{r=s(()=>i(void 0),"stop"),t.addEventListener("abort",r,{once:!0})});try{return await Promise.race([e,o])}finally{r!==void 0&&t.removeEventListener("abort",r)}}};var Id=new Set(["ECONNREFUSED","ECONNRESET","ETIMEDOUT","EPIPE","EHOSTUNREACH","ENETUNREACH","EAI_AGAIN"]),Sd=/^Connection terminated|timeout expired|timeout exceeded when trying to connect/i;function so(n){if(Ot(n))return!1;let e=He(n);return e!==void 0?e==="57P03"||e==="53300"||e.startsWith("08"):n instanceof Error?"code"in n&&typeof n.code=="string"?Id.has(n.code):Sd.test(n.message):!0}s(so,"mayComeSoon");var vd=/\bauthentication failed\b/i;function Ot(n){let e=He(n);return e==="08P01"?n instanceof Error&&vd.test(n.message):e==="28P01"||e==="28000"}s(Ot,"isRefused");var qd=2e3,Ce=class{static{s(this,"Connections")}#e;#t;#n;#r;#o;#s=new Set;#i;constructor(e){this.#e=e,this.#t=e.maxConnections??2,this.#n=e.chance??(()=>.5)}patience(){return new wn(this.#e.connectPatienceMs??1e4,this.#n)}async connect(e,t){let r=0,o=new Error("no connection in time");for(let i=1;;i+=1){let a,d=!1;try{a=await this.#d(this.#m(),t),d=this.#a(a);let u=await this.#f(a,t);if(u!==void 0)return u}catch(u){if(o=u,a!==void 0&&Ot(u)){if(r+=1,await this.#d(this.#k(a),t).catch(Nt(e))&&r===1||this.#c&&await t.allows(i,qd))continue;return Nt(e)(u)}if(a!==void 0&&a.state!=="current"||!(a!==void 0&&d&&this.#a(a))&&so(u)&&await t.allows(i))continue}return Nt(e)(o)}}async#d(e,t){if(!this.#c)return e;let r=await t.bound(e.then(o=>({value:o})));if(r===void 0)throw Cd();return r.value}get#c(){return typeof this.#e.connectionString!="string"}#a(e){return e.held>=this.#t}async#f(e,t){e.waiting+=1;let r=e.pool.connect().finally(()=>{e.waiting-=1,this.#_(e)}),o=await t.bound(r);if(o===void 0){r.then(i=>i.release(!1),()=>{});return}return e.held+=1,{keepsNames:e.keepsNames,query:s(i=>o.query(i),"query"),release:s(i=>{e.held-=1,o.release(i)},"release")}}async#m(){this.#w(),this.#r??=this.#g().then(t=>this.#p(t));let e=this.#r;try{return await e}catch(t){throw this.#r===e&&(this.#r=void 0),t}}async#g(){let{connectionString:e}=this.#e;if(typeof e=="string")return e;let t=this.patience();try{return await this.#d(e(),t)}finally{t.end()}}async#p(e){let{driver:t="pg",neonProxy:r,password:o}=this.#e,i=no(e),a=t==="neon"?await oo(r):io;this.#w();let d=a({application_name:this.#e.applicationName??"ghouls",query_timeout:this.#e.answerTimeoutMs??2e4,...i,...o===void 0?{}:{password:o},max:this.#t,connectionTimeoutMillis:this.#e.connectTimeoutMs??5e3,idleTimeoutMillis:3e4,allowExitOnIdle:!0}),u=t==="pg"&&!/-pooler\b/.test(i.host??""),l={connectionString:e,pool:d,keepsNames:u,waiting:0,held:0,state:"current",ending:void 0};return this.#s.add(l),l}async#k(e){return e.state!=="current"?!0:this.#c?(this.#o??=this.#y(e).finally(()=>{this.#o=void 0}),this.#o):!1}async#y(e){let t=await this.#g();if(t===e.connectionString)return!1;let r=await this.#p(t);return e.state="replaced",this.#r=Promise.resolve(r),this.#_(e),!0}#_(e){e.state!=="replaced"||e.waiting>0||this.#x(e)}#x(e){return e.state="ended",e.ending??=e.pool.end().finally(()=>this.#s.delete(e)),e.ending}#w(){if(this.#i!==void 0)throw new Error("the ledger has been closed")}close(){return this.#i??=this.#u(),this.#i}async#u(){await Promise.all([...this.#s].map(e=>this.#x(e)))}};function Cd(){return new Error("the connection string was not fetched in time")}s(Cd,"unfetched");function Nt(n){return e=>{throw e instanceof v?e:new v("unavailable",n,re(e,!1).sqlState,e)}}s(Nt,"unavailable");var Dd=4,kn=class{static{s(this,"Database")}schema;#e;#t;#n;#r;#o=new Map;#s=!1;constructor(e){this.schema=e.schema??Se,ye("",this.schema),this.#t=e.preparedStatements,this.#n=e.faults??st,this.#r=e.chance??(()=>.5),this.#e=new Ce(e)}async run(e,t){let r=this.#e.patience(),o=!1,i=!0,a=s(d=>o&&d instanceof v&&d.kind!=="unknown"?new v("unknown",e.name,d.sqlState,d):d,"asTold");try{for(let d=1;;d+=1){let u=await this.#e.connect(e.name,r).catch(l=>{throw a(l)});try{return await this.#i(u,e,t,i)}catch(l){if(l instanceof v&&gn(l.cause)&&(i=!1),o||=l instanceof v&&l.kind==="unknown",!(l instanceof v)||!uo(l)||d>=lo(l))throw a(l);await this.#m(d)}}}finally{r.end()}}async#i(e,t,r,o){let i=!0;try{let a=await this.#d(e,t,r,o);return i=!1,a}catch(a){throw i=ao(a),a}finally{e.release(i)}}async#d(e,t,r,o=!0){try{await this.#n("ledger.before-statement",t.name);let{text:i,name:a}=this.#c(t),d=o&&!this.#s&&(this.#t??e.keepsNames),u=await e.query({text:i,values:[...r],...d?{name:a}:{}});return await this.#n("ledger.after-statement",t.name),u.rows}catch(i){let{kind:a,sqlState:d}=re(i,t.writes);throw Xr(d)&&(this.#s=!0),new v(a,t.name,d,i)}}#c(e){let t=this.#o.get(e.name);if(t===void 0){let r=ye(e.text,this.schema),o=Ad("sha256").update(r).digest("hex").slice(0,12);t={text:r,name:`${e.name}:${o}`},this.#o.set(e.name,t)}return t}async transaction(e,t){let r=await this.#a(e),o=!0;try{let i=await t({run:s((a,d)=>this.#d(r,a,d),"run")});return await this.#f(r,e),o=!1,i}catch(i){throw o=ao(i)||await r.query("rollback").then(()=>!1,()=>!0),i}finally{r.release(o)}}async#a(e){let t=this.#e.patience();try{for(let r=1;;r+=1){let o=await this.#e.connect(e,t);try{return await o.query("begin isolation level read committed"),o}catch(i){o.release(!0);let{kind:a,sqlState:d}=re(i,!1),u=new v(a,`${e}: begin`,d,i);if(!uo(u)||r>=lo(u))throw u;await this.#m(r)}}}finally{t.end()}}async#f(e,t){let r;try{await this.#n("ledger.before-commit",t),r=(await e.query("commit")).command,await this.#n("ledger.after-commit",t)}catch(o){let{kind:i,sqlState:a}=re(o,!0);throw new v(i,`${t}: commit`,a,o)}if(r!=="COMMIT")throw new v("defect",`${t}: commit answered ${r}`,void 0,void 0)}#m(e){let t=25*4**(e-1)*(.5+this.#r());return new Promise(r=>setTimeout(r,t))}async close(){await this.#e.close()}};function ao(n){return n instanceof v?n.sqlState===void 0||Zr(n.sqlState)||gn(n.cause):!1}s(ao,"isOfNoUse");function uo(n){return n.kind!=="defect"&&n.kind!=="schema"&&n.kind!=="busy"}s(uo,"isRepeatable");function lo(n){return n.cause instanceof Error&&/read timeout/i.test(n.cause.message)||n.sqlState==="57014"?2:Dd}s(lo,"triesOf");var co={number:1,name:"runs",sql:`
create function ghouls.clock() returns timestamptz
  language sql stable parallel safe
  as 'select statement_timestamp()';
comment on function ghouls.clock() is 'The only time that the protocol knows. Tests replace it.';

create table ghouls.workflows (
  name text not null,
  version integer not null,
  digest text not null,
  build text not null,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (name, version, digest)
);
comment on table ghouls.workflows is 'Which builds have which workflows. Belongs to the deployment, so it has no tenant.';

create table ghouls.runs (
  tenant_id text not null check (tenant_id <> ''),
  run_id uuid not null,
  first_run_id uuid not null,
  idempotency_key text,
  request_digest text not null,
  workflow_name text not null,
  workflow_version integer not null,
  workflow_digest text not null,
  queue text not null,
  priority smallint not null check (priority between 0 and 9),
  agent text,
  requested_by text not null,
  requested_roles text[] not null,
  status text not null check (status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER', 'COMPLETING', 'FAILING', 'CANCELLING',
    'DONE', 'FAILED', 'CANCELLED')),
  enqueue_seq integer not null check (enqueue_seq >= 1),
  journal_length integer not null default 0 check (journal_length >= 0),
  journal_bytes bigint not null default 0 check (journal_bytes >= 0),
  input_text text,
  input_digest text not null,
  output_text text,
  output_digest text,
  error_code text,
  error_text text,
  error_digest text,
  attention_reason text,
  attention_at timestamptz,
  quarantine_reason text,
  quarantined_at timestamptz,
  paused_at timestamptz,
  deadline_at timestamptz,
  created_at timestamptz not null,
  started_at timestamptz,
  finished_at timestamptz,
  primary key (tenant_id, run_id),
  constraint runs_run_id_key unique (run_id),
  constraint runs_idempotency_key unique (tenant_id, idempotency_key),
  constraint runs_finished check ((status in ('DONE', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint runs_started check (status in ('QUEUED', 'FAILING', 'FAILED', 'CANCELLING', 'CANCELLED')
    or started_at is not null),
  constraint runs_failed check ((status in ('FAILING', 'FAILED')) = (error_code is not null)),
  constraint runs_error check (num_nulls(error_code, error_digest) <> 1 and (error_text is null or error_code is not null)),
  constraint runs_output check ((output_text is null or output_digest is not null)
    and (output_digest is null or status in ('COMPLETING', 'DONE'))),
  constraint runs_input check (input_text is not null or finished_at is not null),
  constraint runs_attention check (num_nulls(attention_reason, attention_at) <> 1),
  constraint runs_quarantine check (num_nulls(quarantine_reason, quarantined_at) <> 1)
);
create index runs_newest on ghouls.runs (tenant_id, created_at desc, run_id desc);
create index runs_by_status on ghouls.runs (tenant_id, status, created_at desc, run_id desc);
create index runs_by_workflow on ghouls.runs (tenant_id, workflow_name, created_at desc, run_id desc);
create index runs_with_attention on ghouls.runs (tenant_id, created_at desc, run_id desc)
  where attention_at is not null or quarantined_at is not null;

create table ghouls.deliveries (
  tenant_id text not null,
  run_id uuid not null,
  seq integer not null check (seq >= 1),
  cause text not null check (cause in ('admitted', 'resumed', 'continued', 'recovered', 'contain')),
  status text not null check (status in ('HELD', 'PENDING', 'CLAIMED', 'SETTLED', 'FENCED')),
  outcome text check (outcome in ('done', 'failed', 'parked', 'continued', 'lost', 'given_back',
    'refused')),
  queue text not null,
  priority smallint not null,
  checkpoint_generation integer,
  due_at timestamptz not null,
  hold_expires_at timestamptz,
  publications integer not null default 0,
  publication_failures integer not null default 0,
  publication_error text,
  published_at timestamptz,
  next_publication_at timestamptz,
  token uuid,
  claimed_by text,
  claimed_at timestamptz,
  lease_until timestamptz,
  acts_until timestamptz,
  worker_ended_at timestamptz,
  worker_end text,
  created_at timestamptz not null,
  settled_at timestamptz,
  fenced_at timestamptz,
  primary key (tenant_id, run_id, seq),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint deliveries_held check (status <> 'HELD' or hold_expires_at is not null),
  constraint deliveries_unclaimed check (status not in ('HELD', 'PENDING') or token is null),
  constraint deliveries_claimed check (num_nulls(token, claimed_by, claimed_at, lease_until) in (0, 4)
    and (status not in ('CLAIMED', 'SETTLED') or token is not null)),
  constraint deliveries_settled check ((status = 'SETTLED') = (settled_at is not null)
    and (settled_at is null) = (outcome is null)),
  constraint deliveries_fenced check ((status = 'FENCED') = (fenced_at is not null)),
  constraint deliveries_worker_end check (num_nulls(worker_ended_at, worker_end) <> 1)
);
create unique index deliveries_one_open on ghouls.deliveries (tenant_id, run_id)
  where status in ('HELD', 'PENDING', 'CLAIMED');
create index deliveries_publishable on ghouls.deliveries (priority, next_publication_at)
  where status = 'PENDING';
create index deliveries_by_worker on ghouls.deliveries (claimed_by) where status = 'CLAIMED';
create index deliveries_by_lease on ghouls.deliveries (lease_until) where status = 'CLAIMED';

create table ghouls.journal (
  tenant_id text not null,
  run_id uuid not null,
  ordinal integer not null check (ordinal >= 1),
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  outcome text not null check (outcome in ('ok', 'error')),
  result_text text,
  result_digest text,
  tries integer not null,
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  primary key (tenant_id, run_id, ordinal),
  constraint journal_call unique (tenant_id, run_id, epoch, scope, kind, name, nth),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint journal_result check (result_text is null or result_digest is not null)
);

create function ghouls.keep_terminal_run() returns trigger
  language plpgsql
  as $function$
declare
  allowed ghouls.runs%rowtype := new;
begin
  allowed.attention_reason := old.attention_reason;
  allowed.attention_at := old.attention_at;
  allowed.quarantine_reason := old.quarantine_reason;
  allowed.quarantined_at := old.quarantined_at;
  if new.input_text is null then allowed.input_text := old.input_text; end if;
  if new.output_text is null then allowed.output_text := old.output_text; end if;
  if new.error_text is null then allowed.error_text := old.error_text; end if;
  if allowed is distinct from old then
    raise exception 'a terminal run does not change' using errcode = 'GH001';
  end if;
  return new;
end
$function$;
create trigger keep_terminal_run before update on ghouls.runs
  for each row when (old.status in ('DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.keep_terminal_run();
`};var mo={number:2,name:"containment",sql:`
alter table ghouls.runs
  add column on_worker_loss text not null default 'fail' check (on_worker_loss in ('resume', 'fail')),
  add column losses integer not null default 0 check (losses >= 0),
  add column idle_yields integer not null default 0 check (idle_yields >= 0),
  add column generation integer not null default 0 check (generation >= 0),
  add column open_items integer not null default 0 check (open_items >= 0),
  add column cancel_reason text,
  add column cancelled_by text,
  add constraint runs_contained check (status not in ('DONE', 'FAILED', 'CANCELLED') or open_items = 0);

create index runs_endable on ghouls.runs (created_at)
  where status in ('COMPLETING', 'FAILING', 'CANCELLING') and open_items = 0;

create table ghouls.checkpoints (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  workflow_digest text not null,
  journal_length integer not null,
  journal_digest text not null,
  created_at timestamptz not null,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);

create table ghouls.containment_items (
  tenant_id text not null,
  run_id uuid not null,
  kind text not null check (kind in ('worker', 'effect')),
  key text not null,
  seq integer not null,
  token uuid not null,
  worker text not null,
  over_at timestamptz,
  created_at timestamptz not null,
  next_look_at timestamptz not null,
  tries integer not null default 0,
  last_error text,
  acknowledged_at timestamptz,
  acknowledged_by text,
  acknowledgement text,
  primary key (tenant_id, run_id, kind, key),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint containment_items_acknowledged check (num_nulls(acknowledged_at, acknowledged_by) <> 1)
);
comment on column ghouls.containment_items.over_at is
  'When nothing of it can still act; null where only its worker, a supervisor or an operator can tell.';
create index containment_items_due on ghouls.containment_items (next_look_at) where acknowledged_at is null;
create index containment_items_by_worker on ghouls.containment_items (worker)
  where acknowledged_at is null and kind = 'worker';

create table ghouls.intents (
  tenant_id text not null,
  run_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  number integer not null check (number >= 1),
  seq integer not null,
  token uuid not null,
  started_at timestamptz not null,
  outcome text check (outcome in ('happened', 'not_done', 'cannot_happen', 'failed', 'resolved')),
  outcome_at timestamptz,
  primary key (tenant_id, run_id, epoch, scope, kind, name, nth, number),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint intents_outcome check (num_nulls(outcome, outcome_at) <> 1)
);
comment on table ghouls.intents is 'An effect that happens once: committed before its call. Without an outcome nobody knows.';
create unique index intents_one_open on ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth)
  where outcome is null;

create table ghouls.evidence (
  tenant_id text not null,
  run_id uuid not null,
  evidence_id uuid not null,
  class text not null check (class in ('rejected')),
  seq integer not null,
  token uuid not null,
  call text not null,
  outcome text not null,
  body_text text,
  body_digest text,
  recorded_at timestamptz not null,
  primary key (tenant_id, run_id, evidence_id)
);
comment on table ghouls.evidence is
  'What came from a worker that had been fenced. Written without the lock of its run, so it has no reference to it.';

create table ghouls.audit (
  tenant_id text not null,
  run_id uuid not null,
  audit_id uuid not null,
  actor text not null,
  act text not null,
  subject text not null,
  reason text not null,
  at timestamptz not null,
  primary key (tenant_id, run_id, audit_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id)
);
comment on table ghouls.audit is 'Operators acts, append only.';
`};var fo={number:3,name:"doctor",sql:`
create view ghouls.doctor_open_deliveries as
select d.tenant_id, d.run_id, d.seq, d.status as delivery_status, d.cause, run.status as run_status
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and (d.seq <> run.enqueue_seq or not (
  (d.status in ('HELD', 'PENDING') and run.status = 'QUEUED')
  or (d.status = 'CLAIMED' and run.status in ('RUNNING', 'AWAITING_HARDWARE'))
  or (d.cause = 'contain' and run.status in ('COMPLETING', 'FAILING', 'CANCELLING'))));

create view ghouls.doctor_working_runs as
select run.tenant_id, run.run_id, run.status, run.enqueue_seq
from ghouls.runs run
where run.status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq and d.status in ('HELD', 'PENDING', 'CLAIMED'));

create view ghouls.doctor_terminal_runs as
select run.tenant_id, run.run_id, run.status, d.seq, null::text as item, null::text as effect
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status in ('HELD', 'PENDING', 'CLAIMED') and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, i.kind || ' ' || i.key, null
from ghouls.containment_items i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.acknowledged_at is null and run.status in ('DONE', 'FAILED', 'CANCELLED')
union all
select run.tenant_id, run.run_id, run.status, i.seq, null, i.name
from ghouls.intents i
join ghouls.runs run on run.tenant_id = i.tenant_id and run.run_id = i.run_id
where i.outcome is null and run.status in ('DONE', 'FAILED', 'CANCELLED');

create view ghouls.doctor_pending_deliveries as
select d.tenant_id, d.run_id, d.seq, d.due_at
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'PENDING' and d.next_publication_at is null and run.paused_at is null and run.quarantined_at is null;

create view ghouls.doctor_journals as
select run.tenant_id, run.run_id, run.status, run.journal_length, count(j.ordinal) as entries
from ghouls.runs run
left join ghouls.journal j on j.tenant_id = run.tenant_id and j.run_id = run.run_id
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(j.ordinal) <> run.journal_length;

create view ghouls.doctor_open_items as
select run.tenant_id, run.run_id, run.status, run.open_items, count(i.key) as items
from ghouls.runs run
left join ghouls.containment_items i
  on i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null
where run.status not in ('DONE', 'FAILED', 'CANCELLED')
group by run.tenant_id, run.run_id
having count(i.key) <> run.open_items;

create view ghouls.doctor_endings as
select run.tenant_id, run.run_id, run.status, run.open_items
from ghouls.runs run
where run.status in ('COMPLETING', 'FAILING', 'CANCELLING') and run.open_items = 0
  and (run.quarantined_at is null or run.status = 'CANCELLING') and not exists (
  select from ghouls.deliveries d
  where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED');

create view ghouls.doctor_lost_claims as
select d.tenant_id, d.run_id, d.seq, d.claimed_by, d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end
from ghouls.deliveries d
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() - interval '5 minutes';

create view ghouls.doctor_quarantined_runs as
select run.tenant_id, run.run_id, run.status, run.quarantine_reason, run.quarantined_at
from ghouls.runs run
where run.quarantined_at is not null;

create view ghouls.doctor_runs_with_attention as
select run.tenant_id, run.run_id, run.status, run.attention_reason, run.attention_at
from ghouls.runs run
where run.attention_at is not null and run.status not in ('DONE', 'FAILED', 'CANCELLED');
`};var po={number:4,name:"holds",sql:`
create index deliveries_by_hold on ghouls.deliveries (hold_expires_at) where status = 'HELD';
`};var go={number:5,name:"overlap",sql:`
alter table ghouls.runs add column workflow_absent_since timestamptz;
comment on column ghouls.runs.workflow_absent_since is
  'The first give-back in a row by a build without the workflow of this run; null once a hop has started.';
`};var yo={number:6,name:"keys",sql:`
create table ghouls.api_keys (
  tenant_id text not null check (tenant_id <> ''),
  key_id text not null check (key_id <> ''),
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  subject text not null check (subject <> ''),
  roles text[] not null,
  permissions text[] not null,
  created_by text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  revoked_by text,
  revocation_reason text,
  primary key (tenant_id, key_id),
  constraint api_keys_key_id_key unique (key_id),
  constraint api_keys_revoked check (num_nulls(revoked_at, revoked_by, revocation_reason) in (0, 3))
);
comment on table ghouls.api_keys is
  'A row stays when its key has ended, and tells who made and who revoked it. The application only reads it and says when a key was used.';
comment on column ghouls.api_keys.digest is 'SHA-256 of the text of the key, which is nowhere else.';
comment on column ghouls.api_keys.last_used_at is 'To the hour: not written at every request.';
`};var _o={number:7,name:"waits",sql:`
alter table ghouls.runs
  add column epoch integer not null default 0 check (epoch >= 0),
  add column journal_start integer not null default 0 check (journal_start >= 0);
comment on column ghouls.runs.epoch is 'How often the run has continued as new.';
comment on column ghouls.runs.journal_start is 'The journal of this epoch begins behind this ordinal.';
create index runs_by_deadline on ghouls.runs (deadline_at, run_id)
  where deadline_at is not null and status in ('QUEUED', 'RUNNING', 'AWAITING_HARDWARE', 'AWAITING_CONSENT',
    'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER');

create table ghouls.waits (
  tenant_id text not null,
  run_id uuid not null,
  generation integer not null check (generation >= 1),
  seq integer not null,
  opened_at timestamptz not null,
  closed_at timestamptz,
  closed_by uuid,
  primary key (tenant_id, run_id, generation),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq)
);
create unique index waits_one_open on ghouls.waits (tenant_id, run_id) where closed_at is null;

create table ghouls.arms (
  tenant_id text not null,
  run_id uuid not null,
  arm_id uuid not null,
  epoch integer not null,
  scope text not null,
  kind text not null,
  name text not null,
  nth integer not null,
  owner text not null check (owner in ('consent', 'signal', 'timer')),
  generation integer not null,
  seq integer not null,
  due_at timestamptz,
  tries integer check (tries >= 1),
  created_at timestamptz not null,
  closed_at timestamptz,
  closing text check (closing in ('fact', 'step', 'restart', 'ended')),
  primary key (tenant_id, run_id, arm_id),
  constraint arms_arm_id_key unique (arm_id),
  foreign key (tenant_id, run_id, seq) references ghouls.deliveries (tenant_id, run_id, seq),
  constraint arms_closed check (num_nulls(closed_at, closing) <> 1),
  constraint arms_timer check (owner <> 'timer' or due_at is not null),
  constraint arms_retry check ((kind = 'step') = (tries is not null))
);
comment on column ghouls.arms.generation is 'Of the wait that holds it, or that held it last.';
comment on column ghouls.arms.due_at is 'When its time is over; null where it has none.';
create unique index arms_one_open on ghouls.arms (tenant_id, run_id, epoch, scope, kind, name, nth)
  where closed_at is null;
create index arms_due on ghouls.arms (due_at, run_id) where closed_at is null and due_at is not null;

create table ghouls.consents (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  arm_id uuid not null,
  status text not null check (status in ('PENDING', 'GRANTED', 'DENIED', 'EXPIRED', 'CANCELLED')),
  title text not null,
  request_text text not null,
  stored_digest text not null,
  request_digest text not null,
  deciders text[] not null check (cardinality(deciders) >= 1),
  quorum integer not null check (quorum >= 1),
  requester_may_decide boolean not null,
  on_expiry text not null check (on_expiry in ('expire', 'grant', 'deny')),
  source text,
  next_look_at timestamptz,
  looks integer not null default 0,
  created_at timestamptz not null,
  expires_at timestamptz,
  closed_at timestamptz,
  closed_by text,
  primary key (tenant_id, run_id, consent_id),
  constraint consents_consent_id_key unique (consent_id),
  foreign key (tenant_id, run_id, arm_id) references ghouls.arms (tenant_id, run_id, arm_id),
  constraint consents_closed check ((status = 'PENDING') = (closed_at is null) and num_nulls(closed_at, closed_by) <> 1),
  constraint consents_source check (source is null or status <> 'PENDING' or next_look_at is not null)
);
create unique index consents_of_arm on ghouls.consents (tenant_id, run_id, arm_id);
create index consents_newest on ghouls.consents (tenant_id, created_at desc, consent_id desc);
create index consents_pending on ghouls.consents (tenant_id, created_at desc, consent_id desc) where status = 'PENDING';
create index consents_to_look_up on ghouls.consents (next_look_at, run_id)
  where status = 'PENDING' and source is not null;

create table ghouls.consent_decisions (
  tenant_id text not null,
  run_id uuid not null,
  consent_id uuid not null,
  subject text not null,
  verdict text not null check (verdict in ('grant', 'deny')),
  comment_text text,
  comment_digest text,
  decided_at timestamptz not null,
  primary key (tenant_id, run_id, consent_id, subject),
  foreign key (tenant_id, run_id, consent_id) references ghouls.consents (tenant_id, run_id, consent_id),
  constraint consent_decisions_comment check (comment_text is null or comment_digest is not null)
);

create table ghouls.signals (
  tenant_id text not null,
  run_id uuid not null,
  signal_id uuid not null,
  name text not null,
  idempotency_key text,
  request_digest text not null,
  payload_text text,
  payload_digest text,
  sent_by text not null,
  received_at timestamptz not null,
  consumed_at timestamptz,
  consumed_by uuid,
  primary key (tenant_id, run_id, signal_id),
  foreign key (tenant_id, run_id) references ghouls.runs (tenant_id, run_id),
  constraint signals_idempotency_key unique (tenant_id, run_id, idempotency_key),
  constraint signals_consumed check (num_nulls(consumed_at, consumed_by) <> 1),
  constraint signals_payload check (payload_text is null or payload_digest is not null)
);
create index signals_buffered on ghouls.signals (tenant_id, run_id, name, received_at, signal_id)
  where consumed_at is null;

create function ghouls.close_waits() returns trigger
  language plpgsql
  as $function$
begin
  update ghouls.consents set status = 'CANCELLED', closed_at = ghouls.clock(), closed_by = 'the end of its run'
    where tenant_id = new.tenant_id and run_id = new.run_id and status = 'PENDING';
  update ghouls.arms set closed_at = ghouls.clock(), closing = 'ended'
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  update ghouls.waits set closed_at = ghouls.clock()
    where tenant_id = new.tenant_id and run_id = new.run_id and closed_at is null;
  return null;
end
$function$;
create trigger close_waits after update of status on ghouls.runs
  for each row when (new.generation > 0
    and new.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
    and old.status not in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED'))
  execute function ghouls.close_waits();

create view ghouls.doctor_waits as
select run.tenant_id, run.run_id, run.status, run.generation,
  (select count(*) from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
    and w.generation = run.generation and w.closed_at is null) as waits,
  (select count(*) from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
    and a.generation = run.generation and a.closed_at is null) as arms,
  (select count(*) from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
    and c.generation = run.generation) as checkpoints
from ghouls.runs run
where run.status in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
  and not (
    exists (select from ghouls.waits w where w.tenant_id = run.tenant_id and w.run_id = run.run_id
      and w.generation = run.generation and w.closed_at is null)
    and exists (select from ghouls.arms a where a.tenant_id = run.tenant_id and a.run_id = run.run_id
      and a.generation = run.generation and a.closed_at is null)
    and exists (select from ghouls.checkpoints c where c.tenant_id = run.tenant_id and c.run_id = run.run_id
      and c.generation = run.generation));

create view ghouls.doctor_ended_waits as
select run.tenant_id, run.run_id, run.status, w.generation, null::uuid as arm_id, null::uuid as consent_id
from ghouls.waits w
join ghouls.runs run on run.tenant_id = w.tenant_id and run.run_id = w.run_id
where w.closed_at is null
  and run.status not in ('AWAITING_CONSENT', 'AWAITING_DELEGATE', 'AWAITING_CHILD', 'AWAITING_SIGNAL', 'AWAITING_TIMER')
union all
select run.tenant_id, run.run_id, run.status, a.generation, a.arm_id, null
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null
  and run.status in ('COMPLETING', 'FAILING', 'CANCELLING', 'DONE', 'FAILED', 'CANCELLED')
union all
select a.tenant_id, a.run_id, null, a.generation, a.arm_id, c.consent_id
from ghouls.consents c
join ghouls.arms a on a.tenant_id = c.tenant_id and a.run_id = c.run_id and a.arm_id = c.arm_id
where c.status = 'PENDING' and a.closed_at is not null;
`};var Ae=[co,mo,fo,po,go,yo,_o];var Rd=[W("integrity","open deliveries agree with their run","doctor_open_deliveries"),W("integrity","working runs have an open delivery","doctor_working_runs"),W("integrity","terminal runs have nothing open","doctor_terminal_runs"),W("integrity","pending deliveries have a next publication","doctor_pending_deliveries"),W("integrity","journals are as long as their runs say","doctor_journals"),W("integrity","runs know how many items are open","doctor_open_items"),W("integrity","ending runs have something left to contain","doctor_endings"),W("integrity","a parked run has one open wait with an open arm, and its checkpoint","doctor_waits"),W("integrity","waits, arms and consents are closed with what they belong to","doctor_ended_waits"),W("attention","no lost claim waits for its judgement","doctor_lost_claims"),W("attention","no run is quarantined","doctor_quarantined_runs"),W("attention","no open run asks for a person","doctor_runs_with_attention")];function W(n,e,t){return{kind:n,check:e,statement:_(t.replace("_",".").replaceAll("_","-"),`select * from ghouls.${t}
limit 100`)}}s(W,"view");var $d=_("doctor.schema-version","select coalesce(max(number), 0) as version from ghouls.migrations");async function Pt(n){let[e]=await n.run($d,[]);return{applied:Number(e?.version??0),known:Ae.at(-1)?.number??0}}s(Pt,"readSchemaVersion");async function ho(n){let e=await Pt(n),t=[{check:"the schema is up to date",kind:"integrity",ok:e.applied===e.known,rows:e.applied===e.known?[]:[e]}];for(let{check:r,kind:o,statement:i}of Rd){let a=await n.run(i,[]);t.push({check:r,kind:o,ok:a.length===0,rows:a})}return t}s(ho,"examine");var Od=g("audit.record",`
insert into ghouls.audit (tenant_id, run_id, audit_id, actor, act, subject, reason, at)
select run.tenant_id, run.run_id, gen_random_uuid(), $3, $4, $5, $6, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`);async function xn(n,e,t){await n.run(Od,[e.tenantId,e.runId,t.actor,t.act,t.subject,t.reason])}s(xn,"recordAudit");var oe="json_build_array(i.epoch, i.scope, i.kind, i.name, i.nth)::text";var Nd=`r as materialized (
  select run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, run.journal_length,
    run.journal_bytes, run.paused_at, run.quarantined_at, run.open_items, run.generation, run.idle_yields
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
)`;function R(n){return`${Nd}, held as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.acts_until, r.enqueue_seq, r.queue, r.priority, r.journal_length, r.journal_bytes,
    r.open_items, r.generation, r.idle_yields
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where r.status in (${I(n)}) and (r.quarantined_at is null or r.status = 'CANCELLING')
    and d.status = 'CLAIMED' and d.token = $4
  for update of d
)`}s(R,"heldBy");var $=["RUNNING","AWAITING_HARDWARE"];function Je(n,e){return wo(n,ne("run",e))}s(Je,"runMayBecome");function bn(n,e){return wo(n,ne("delivery",e))}s(bn,"deliveryMayBecome");function wo(n,e){return e.length===0?"false":`${n} in (${I(e)})`}s(wo,"oneOf");var O=["COMPLETING","FAILING","CANCELLING"];var Pd=_("runs.lock",`
select run.tenant_id, run.run_id, run.status
from unnest($1::text[], $2::uuid[]) as q(tenant_id, run_id)
join ghouls.runs run on run.tenant_id = q.tenant_id and run.run_id = q.run_id
order by run.run_id
for update of run`);async function C(n,e){let t=await n.run(Pd,[e.map(r=>r.tenantId),e.map(r=>r.runId)]);return new Map(t.map(r=>[p(r).text("run_id"),p(r).text("status")]))}s(C,"lockRuns");var Ld=g("runs.end-if-contained",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(O)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.acknowledged_at is null)
  for update
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status in (${I(Et.filter(n=>n!=="CLAIMED"))})
  returning d.run_id
)
update ghouls.runs run
set status = case r.status when 'COMPLETING' then 'DONE' when 'FAILING' then 'FAILED' else 'CANCELLED' end,
  finished_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  and (select count(*) from fenced) >= 0
returning run.status`);async function M(n,e){let[t]=await n.run(Ld,[e.tenantId,e.runId]);return t===void 0?null:p(t).text("status")}s(M,"endRunIfContained");var Td=g("deliveries.yield",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1,
    idle_yields = case when $8::boolean then run.idle_yields + 1 else 0 end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $9::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),Md=g("deliveries.give-back",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.checkpoint_generation, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1,
    workflow_absent_since = case when $6::boolean then coalesce(run.workflow_absent_since, settled.settled_at)
      else run.workflow_absent_since end
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, settled.checkpoint_generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  moved.checkpoint_generation, greatest(ghouls.clock(), $5::timestamptz), greatest(ghouls.clock(), $5::timestamptz),
  ghouls.clock()
from moved
returning seq, queue`),jd=g("deliveries.due-now",`
with waiting as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  join ghouls.deliveries before on before.tenant_id = d.tenant_id and before.run_id = d.run_id and before.seq = d.seq - 1
  where d.tenant_id = $1 and d.run_id = $2 and d.status = 'PENDING' and before.outcome = 'given_back'
    and d.due_at > ghouls.clock()
  for update of d
)
update ghouls.deliveries d
set due_at = ghouls.clock(), next_publication_at = ghouls.clock()
from waiting
where d.tenant_id = waiting.tenant_id and d.run_id = waiting.run_id and d.seq = waiting.seq
returning d.seq`),zd=g("runs.clear-absence",`
with ${R($)}
update ghouls.runs run
set workflow_absent_since = null
from held
where run.tenant_id = held.tenant_id and run.run_id = held.run_id
returning run.run_id`),Gd=g("runs.adopt",`
with ${R($)}, moved as (
  update ghouls.runs run
  set workflow_version = $6, workflow_digest = $7, workflow_absent_since = null,
    generation = run.generation + case when $8::boolean then 1 else 0 end
  from held
  where run.tenant_id = held.tenant_id and run.run_id = held.run_id and held.journal_length = $9
    and run.workflow_digest = any($5::text[])
  returning run.tenant_id, run.run_id, run.generation, held.seq
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $7, $9, $10, ghouls.clock()
  from moved
  where $8::boolean
  returning tenant_id, run_id, seq, generation
), carried as (
  update ghouls.deliveries d
  set checkpoint_generation = checkpoint.generation
  from checkpoint
  where d.tenant_id = checkpoint.tenant_id and d.run_id = checkpoint.run_id and d.seq = checkpoint.seq
  returning d.seq
)
select moved.run_id, carried.seq from moved left join carried on true`),Fd=_("deliveries.handed-over",`
select next.seq, next.queue
from ghouls.deliveries d
join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED' and d.outcome = $5`),Ud=_("checkpoints.read",`
select c.generation, c.workflow_digest, c.journal_length, c.journal_digest
from ghouls.checkpoints c
where c.tenant_id = $1 and c.run_id = $2 and c.generation = $3`);async function ko(n,e,t,r){let{workflowDigest:o,journalLength:i,journalDigest:a}=t,[d]=await n.run(Td,[...Qe(e),o,i,a,r.idle,r.publisherGraceSeconds]);return d===void 0?En(n,e,"continued"):Ve(d)}s(ko,"yieldDeliveryIfClaimed");async function xo(n,e,t,r=!1){let[o]=await n.run(Md,[...Qe(e),t,r]);return o===void 0?En(n,e,"given_back"):Ve(o)}s(xo,"giveDeliveryBackIfClaimed");async function bo(n,e){return(await n.run(zd,Qe(e))).length===1}s(bo,"clearAbsenceIfClaimed");async function Eo(n,e,t,{journalLength:r,journalDigest:o}){return(await n.run(Gd,[...Qe(e),[e.workflow.digest,t.digest],t.version,t.digest,e.checkpointGeneration!==null,r,o])).length===1}s(Eo,"adoptIfClaimed");async function Io(n,e,t){let[r]=await n.run(Ud,[e.tenantId,e.runId,t]);if(r===void 0)return null;let o=p(r);return{workflowDigest:o.text("workflow_digest"),journalLength:o.number("journal_length"),journalDigest:o.text("journal_digest")}}s(Io,"readCheckpoint");async function En(n,e,t){let[r]=await n.run(Fd,[...Qe(e),t]);return r===void 0?null:Ve(r)}s(En,"handedOver");function Ve(n){return{enqueueSeq:p(n).number("seq"),queue:p(n).text("queue")}}s(Ve,"nextOf");function Qe(n){return[n.tenantId,n.runId,n.seq,n.token]}s(Qe,"keyOf");async function In(n,e){await n.run(jd,[e.tenantId,e.runId])}s(In,"makeGivenBackDue");var Kd=g("items.acknowledge",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = $3 and i.key = $4 and i.acknowledged_at is null
    and ($7::uuid is null or i.token = $7)
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = $5, acknowledgement = $6
  from item
  where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
  returning i.tenant_id, i.run_id, i.kind, i.key
), known as (
  update ghouls.intents i
  set outcome = 'resolved', outcome_at = ghouls.clock()
  from acknowledged a
  where a.kind = 'effect' and i.tenant_id = a.tenant_id and i.run_id = a.run_id and i.outcome is null and ${oe} = a.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - 1
from acknowledged a
where run.tenant_id = a.tenant_id and run.run_id = a.run_id and (select count(*) from known) >= 0
returning run.open_items`),Bd=_("deliveries.holds",`
select d.seq
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'`),Hd=g("deliveries.over-now",`
update ghouls.deliveries d
set acts_until = least(d.acts_until, ghouls.clock())
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'CLAIMED'
returning d.seq`);async function Lt(n,e,t,r){return n.transaction("items.acknowledge",async o=>{await C(o,[e]);let{kind:i,key:a,by:d,words:u,token:l,under:m}=t;if(m!==void 0&&(await o.run(Bd,[m.tenantId,m.runId,m.seq,m.token])).length===0)return null;let[f]=await o.run(Kd,[e.tenantId,e.runId,i,a,d,u,l??null]);if(f===void 0)return null;if(i==="worker"&&await In(o,e),r!==void 0){let h=`${i} ${a}`;await xn(o,e,{...r,act:"resolve",subject:h})}return{openItems:p(f).number("open_items"),ended:await M(o,e)}})}s(Lt,"acknowledgeItem");async function So(n,e){let t=await Lt(n,e,{kind:"worker",key:String(e.seq),by:"worker",words:"its worker ended the hop: no step is in flight",token:e.token});return t!==null?t:(await n.run(Hd,[e.tenantId,e.runId,e.seq,e.token]),null)}s(So,"acknowledgeWorker");var Vd=g("deliveries.beat",`
with held as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[]) as q(tenant_id, run_id, seq, token)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq and d.token = q.token
  where d.status = 'CLAIMED'
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set lease_until = greatest(d.lease_until, ghouls.clock() + $5::double precision * interval '1 second')
from held
where d.tenant_id = held.tenant_id and d.run_id = held.run_id and d.seq = held.seq
returning d.run_id, d.seq`);async function vo(n,e,t){let r=await n.run(Vd,[e.map(o=>o.tenantId),e.map(o=>o.runId),e.map(o=>o.seq),e.map(o=>o.token),t]);return new Set(r.map(o=>`${p(o).text("run_id")}:${p(o).number("seq")}`))}s(vo,"beatIfClaimed");function Sn(n){return`open as materialized (
  select d.tenant_id, d.run_id, d.seq, d.status, d.token, d.claimed_by,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + ${n}::double precision * interval '1 second') end as over_at
  from r
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id
  where d.status in ('HELD', 'PENDING', 'CLAIMED')
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from open
  where d.tenant_id = open.tenant_id and d.run_id = open.run_id and d.seq = open.seq
  returning d.run_id
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select open.tenant_id, open.run_id, 'worker', open.seq::text, open.seq, open.token, open.claimed_by, open.over_at,
    ghouls.clock(), coalesce(open.over_at, ghouls.clock())
  from open
  where open.status = 'CLAIMED'
  returning run_id
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${oe}, i.seq, i.token, coalesce(d.claimed_by, 'unknown'), ghouls.clock(), ghouls.clock()
  from r
  join ghouls.intents i on i.tenant_id = r.tenant_id and i.run_id = r.run_id and i.outcome is null
  join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning run_id
)`}s(Sn,"takenAway");var Yd=g("runs.cancel",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(ne("run","CANCELLING"))})
  for update
), ${Sn("$5")}
update ghouls.runs run
set status = 'CANCELLING', cancelled_by = $3, cancel_reason = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function qo(n,e,t,r){return n.transaction("runs.cancel",async o=>{let i=(await C(o,[e])).get(e.runId);if(i===void 0)return null;let[a]=await o.run(Yd,[e.tenantId,e.runId,t.actor,t.reason,r]);return a===void 0?{cancelled:!1,status:i}:{cancelled:!0,status:await M(o,e)??p(a).text("status")}})}s(qo,"cancelRun");var Zd=g("evidence.reject",`
insert into ghouls.evidence (tenant_id, run_id, evidence_id, class, seq, token, call, outcome, body_text, body_digest, recorded_at)
select d.tenant_id, d.run_id, gen_random_uuid(), 'rejected', d.seq, d.token, $5, $6, $7, $8, ghouls.clock()
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4`);async function Co(n,e,t){let{call:r,outcome:o,bodyText:i,bodyDigest:a}=t;await n.run(Zd,[e.tenantId,e.runId,e.seq,e.token,r,o,i,a])}s(Co,"recordRejectedResult");var nu=_("arms.of-run",`
select a.arm_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.owner, a.generation, a.due_at, a.tries,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in, c.consent_id, c.request_digest
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by a.created_at, a.arm_id`),tu=_("arms.retries",`
select a.epoch, a.scope, a.kind, a.name, a.nth, max(a.tries) as tries,
  max(a.due_at) filter (where a.closed_at is null) as due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.epoch = $3 and a.kind = 'step'
group by a.epoch, a.scope, a.kind, a.name, a.nth`);async function Ye(n,e){return(await n.run(nu,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{armId:o.text("arm_id"),call:Do(r),owner:o.text("owner"),generation:o.number("generation"),dueAt:o.dateOrNull("due_at"),dueInSeconds:o.numberOrNull("due_in"),tries:o.numberOrNull("tries"),consentId:o.textOrNull("consent_id"),requestDigest:o.textOrNull("request_digest")}})}s(Ye,"readOpenArms");async function Ao(n,e,t){return(await n.run(tu,[e.tenantId,e.runId,t])).map(o=>{let i=p(o);return{call:Do(o),tries:i.number("tries"),dueAt:i.dateOrNull("due_at")}})}s(Ao,"readRetries");function Do(n){let e=p(n);return{epoch:e.number("epoch"),scope:e.text("scope"),kind:e.text("kind"),name:e.text("name"),nth:e.number("nth")}}s(Do,"callOf");var ou={micros:"0",runId:"00000000-0000-0000-0000-000000000000"},z=s(n=>`(extract(epoch from ${n}) * 1000000)::bigint as micros`,"microsOf"),G=s((n,e,t)=>`(${n}, ${e}) > (timestamptz 'epoch' + $${t}::bigint * interval '1 microsecond', $${t+1}::uuid)`,"behind");function K(n){let{micros:e,runId:t}=n??ou;return[e,t]}s(K,"positionOf");function B(n,e,t){let r=n.length<e?void 0:n.at(-1);return{found:n.map(t),next:r&&{micros:p(r).text("micros"),runId:p(r).text("run_id")}}}s(B,"pageOf");var vn=["AWAITING_CONSENT","AWAITING_DELEGATE","AWAITING_CHILD","AWAITING_SIGNAL","AWAITING_TIMER"],iu=te.map(n=>`when '${n}' then '${qt(n)}'`).join(" "),su=g("consents.expire",`
with expired as materialized (
  select c.tenant_id, c.run_id, c.consent_id
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.status = 'PENDING' and c.expires_at <= ghouls.clock()
  order by c.consent_id
  for update
)
update ghouls.consents c
set status = case c.on_expiry ${iu} end, closed_at = ghouls.clock(), closed_by = 'expiry'
from expired
where c.tenant_id = expired.tenant_id and c.run_id = expired.run_id and c.consent_id = expired.consent_id
returning c.consent_id`),au=_("arms.facts",`
select a.arm_id, a.owner, a.kind, coalesce(a.due_at <= ghouls.clock(), false) as due, c.consent_id, c.status, c.closed_by,
  (select json_agg(json_build_object('by', s.subject, 'verdict', s.verdict, 'at', floor(extract(epoch from s.decided_at) * 1000), 'comment', s.comment_text) order by s.decided_at, s.subject)
    from ghouls.consent_decisions s
    where s.tenant_id = c.tenant_id and s.run_id = c.run_id and s.consent_id = c.consent_id)::text as decisions,
  (select json_agg(json_build_object('signalId', s.signal_id, 'from', s.sent_by, 'at', floor(extract(epoch from s.received_at) * 1000), 'payload', s.payload_text) order by s.received_at, s.signal_id)
    from (
      select b.* from ghouls.signals b
      where b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name and b.consumed_at is null
      order by b.received_at, b.signal_id
      limit 10
    ) s
    where a.owner = 'signal')::text as signals
from ghouls.arms a
left join ghouls.consents c on c.tenant_id = a.tenant_id and c.run_id = a.run_id and c.arm_id = a.arm_id
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null
order by coalesce(c.closed_at, (
    select min(b.received_at) from ghouls.signals b
    where a.owner = 'signal' and b.tenant_id = a.tenant_id and b.run_id = a.run_id and b.name = a.name
      and b.consumed_at is null), a.due_at, a.created_at), a.created_at, a.arm_id`),du=g("arms.close",`
with r as materialized (
  select run.tenant_id, run.run_id, run.journal_length
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), closed as (
  update ghouls.arms a
  set closed_at = ghouls.clock(), closing = 'fact'
  from r
  where a.tenant_id = r.tenant_id and a.run_id = r.run_id and a.arm_id = $4 and a.closed_at is null
  returning a.tenant_id, a.run_id, a.epoch, a.scope, a.kind, a.name, a.nth, a.created_at
), consumed as (
  update ghouls.signals s
  set consumed_at = ghouls.clock(), consumed_by = $4
  from closed
  where s.tenant_id = closed.tenant_id and s.run_id = closed.run_id and s.signal_id = $5::uuid and s.consumed_at is null
  returning s.run_id
), entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text, result_digest,
    tries, seq, token, started_at, completed_at)
  select closed.tenant_id, closed.run_id, r.journal_length + 1, closed.epoch, closed.scope, closed.kind, closed.name, closed.nth,
    'ok', $6, $7, 1, d.seq, d.token, date_trunc('milliseconds', closed.created_at), date_trunc('milliseconds', ghouls.clock())
  from closed
  join r on r.tenant_id = closed.tenant_id and r.run_id = closed.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = $3
  where closed.kind <> 'step'
  returning tenant_id, run_id, ordinal
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $8::bigint
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select closed.kind, (select count(*) from entry)::integer as entries, (select count(*) from consumed)::integer as consumed
from closed
where (select count(*) from counted) >= 0`),uu=g("runs.resume",`
with r as materialized (
  select run.tenant_id, run.run_id, run.status, run.generation, run.quarantined_at
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2
  for update
), wait as (
  update ghouls.waits w
  set closed_at = ghouls.clock(), closed_by = $3::uuid
  from r
  where w.tenant_id = r.tenant_id and w.run_id = r.run_id and w.generation = r.generation and w.closed_at is null
    and r.status in (${I(vn)}) and r.quarantined_at is null
  returning w.tenant_id, w.run_id, w.generation, w.seq, w.closed_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1
  from wait
  where run.tenant_id = wait.tenant_id and run.run_id = wait.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority, wait.generation, wait.seq as parked_seq,
    wait.closed_at
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
    moved.generation, moved.closed_at, moved.closed_at + $4::double precision * interval '1 second', moved.closed_at
  from moved
  returning run_id
)
select moved.enqueue_seq, moved.queue, moved.parked_seq from moved join next on next.run_id = moved.run_id`),lu=_("arms.run-of-arm",`
select a.tenant_id, a.run_id, a.closed_at is null as open,
  extract(epoch from a.due_at - ghouls.clock())::double precision as due_in
from ghouls.arms a
where a.arm_id = $1`),cu=_("arms.due",`
select a.tenant_id, a.run_id, a.arm_id, extract(epoch from ghouls.clock() - a.due_at)::double precision as late,
  ${z("a.due_at")}
from ghouls.arms a
join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
where a.closed_at is null and a.due_at <= ghouls.clock() and run.status in (${I(vn)})
  and run.quarantined_at is null and ${G("a.due_at","a.run_id",2)}
order by a.due_at, a.run_id
limit $1`);async function Tt(n,e){await n.run(su,[e.tenantId,e.runId]);let t=await n.run(au,[e.tenantId,e.runId]);return Ct(t.map(mu))}s(Tt,"readClosings");async function Mt(n,e,t,r){for(let{armId:o,resultText:i,signalId:a}of r)await n.run(du,[e.tenantId,e.runId,t,o,a??null,i,i===null?null:E(i),i===null?0:Buffer.byteLength(i)])}s(Mt,"closeArms");async function _e(n,e,t){let r=await Tt(n,e),[o]=r;if(o===void 0)return null;let[i]=await n.run(uu,[e.tenantId,e.runId,o.armId,t]);if(i===void 0)return null;let a=p(i);await Mt(n,e,a.number("parked_seq"),r);let{tenantId:d,runId:u}=e;return{tenantId:d,runId:u,enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}}s(_e,"resumeIfClosed");async function jt(n,e,t){return n.transaction("runs.resume",async r=>(await C(r,[e])).size===0?null:_e(r,e,t))}s(jt,"resumeRun");async function $o(n,e){let[t]=await n.run(lu,[e]);if(t===void 0)return null;let r=p(t);return{tenantId:r.text("tenant_id"),runId:r.text("run_id"),open:r.boolean("open"),dueInSeconds:r.numberOrNull("due_in")}}s($o,"readRunOfArm");async function Oo(n,e,t){let r=await n.run(cu,[e,...K(t)]);return B(r,e,o=>{let i=p(o);return{tenantId:i.text("tenant_id"),runId:i.text("run_id"),armId:i.text("arm_id"),lateSeconds:i.number("late")}})}s(Oo,"readDueArms");function Ro(n){return JSON.parse(n).map(t=>({...t,at:new Date(t.at).toISOString()}))}s(Ro,"dated");function mu(n){let e=p(n),t=e.textOrNull("consent_id"),r=e.textOrNull("signals");return{armId:e.text("arm_id"),owner:e.text("owner"),due:e.boolean("due"),retry:e.text("kind")==="step",...t===null?{}:{consent:{consentId:t,status:e.text("status"),closedBy:e.textOrNull("closed_by"),decisions:Ro(e.textOrNull("decisions")??"[]")}},...r===null?{}:{signals:Ro(r)}}}s(mu,"factOf");var zt=`c.tenant_id, c.run_id, c.consent_id, c.status, c.title, c.request_text, c.stored_digest, c.request_digest,
  c.deciders, c.quorum, c.requester_may_decide, c.on_expiry, c.source, c.created_at, c.expires_at, c.closed_at, c.closed_by,
  run.workflow_name, run.requested_by`,Gt=`from ghouls.consents c
join ghouls.runs run on run.tenant_id = c.tenant_id and run.run_id = c.run_id`,pu=_("consents.read",`
select ${zt}
${Gt}
where c.tenant_id = $1 and c.consent_id = $2`),gu=_("consents.decisions",`
select s.subject, s.verdict, s.decided_at, s.comment_text
from ghouls.consent_decisions s
where s.tenant_id = $1 and s.run_id = $2 and s.consent_id = $3
order by s.decided_at, s.subject`),yu=_("consents.page",`
select ${zt}, ${z("c.created_at")}
${Gt}
where c.tenant_id = $1 and ($3::uuid is null or c.run_id = $3) and ($4::text is null or c.status = $4)
  and ($5::bigint is null
    or (c.created_at, c.consent_id) < (timestamptz 'epoch' + $5 * interval '1 microsecond', $6::uuid))
order by c.created_at desc, c.consent_id desc
limit $2`),_u=_("consents.lock",`
select c.status, c.closed_by, c.deciders, c.quorum, c.requester_may_decide, c.request_digest,
  coalesce(c.expires_at <= ghouls.clock(), false) as expired
from ghouls.consents c
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3
for update`),hu=g("consents.decide",`
with word as (
  insert into ghouls.consent_decisions (tenant_id, run_id, consent_id, subject, verdict, comment_text, comment_digest, decided_at)
  select c.tenant_id, c.run_id, c.consent_id, $4, $5, $6, $7, ghouls.clock()
  from ghouls.consents c
  where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
  on conflict (tenant_id, run_id, consent_id, subject) do nothing
  returning tenant_id, run_id, consent_id, decided_at
), closed as (
  update ghouls.consents c
  set status = $8, closed_at = word.decided_at, closed_by = $4
  from word
  where $8 <> 'PENDING' and c.tenant_id = word.tenant_id and c.run_id = word.run_id and c.consent_id = word.consent_id
    and c.status = 'PENDING'
  returning c.consent_id
)
select (select count(*) from closed)::integer as closed from word`);async function No(n,e,t,r){let o=await qn(n,e);return o===null?null:n.transaction("consents.decide",async i=>{await C(i,[o]);let a=[o.tenantId,o.runId,o.consentId],[d]=await i.run(_u,a);if(d===void 0)return null;let u=p(d),l=vt({status:u.text("status"),closedBy:u.textOrNull("closed_by"),deciders:o.deciders,quorum:o.quorum,requesterMayDecide:o.requesterMayDecide,requestedBy:o.requestedBy,requestDigest:o.requestDigest,expired:u.boolean("expired"),decisions:await Ft(i,o)},t,r.asSource===!0),m=l.kind==="counts"||l.kind==="expired";if(l.kind==="counts"){let{subject:k,verdict:b,commentText:x,commentDigest:U}=t;await i.run(hu,[...a,k,b,x,U,l.becomes])}let f=m?await _e(i,o,r.publisherGraceSeconds):null,h=m?await qn(i,e)??o:o;return{judgement:l,consent:{...h,status:m?h.status:u.text("status")},resumption:f}})}s(No,"decideConsent");async function qn(n,e){let[t]=await n.run(pu,[e.tenantId,e.consentId]);return t===void 0?null:Ut(t)}s(qn,"readConsent");async function Ft(n,e){return(await n.run(gu,[e.tenantId,e.runId,e.consentId])).map(r=>{let o=p(r);return{by:o.text("subject"),verdict:o.text("verdict"),at:o.date("decided_at"),commentText:o.textOrNull("comment_text")}})}s(Ft,"readDecisions");async function Po(n,e,t,r){let o=await n.run(yu,[e,r.limit+1,t.runId??null,t.status??null,r.after?.micros??null,r.after?.consentId??null]),i=o.slice(0,r.limit),a=o.length>r.limit?i.at(-1):void 0;return{consents:i.map(Ut),next:a&&{micros:p(a).text("micros"),consentId:p(a).text("consent_id")}}}s(Po,"readConsentPage");var wu=_("consents.to-look-up",`
select ${zt}, c.looks, ${z("c.next_look_at")}
${Gt}
where c.status = 'PENDING' and c.source is not null and c.next_look_at <= ghouls.clock()
  and ${G("c.next_look_at","c.run_id",2)}
order by c.next_look_at, c.run_id
limit $1`),ku=g("consents.looked-up",`
update ghouls.consents c
set looks = c.looks + 1, next_look_at = ghouls.clock() + $4::double precision * interval '1 second'
where c.tenant_id = $1 and c.run_id = $2 and c.consent_id = $3 and c.status = 'PENDING'
returning c.looks`);async function Lo(n,e,t){let r=await n.run(wu,[e,...K(t)]);return B(r,e,o=>({...Ut(o),looks:p(o).number("looks")}))}s(Lo,"readConsentsToLookUp");async function To(n,e,t){await n.run(ku,[e.tenantId,e.runId,e.consentId,t])}s(To,"postponeLookUp");function Ut(n){let e=p(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),consentId:e.text("consent_id"),status:e.text("status"),title:e.text("title"),requestText:e.text("request_text"),storedDigest:e.text("stored_digest"),requestDigest:e.text("request_digest"),deciders:e.texts("deciders"),quorum:e.number("quorum"),requesterMayDecide:e.boolean("requester_may_decide"),onExpiry:e.text("on_expiry"),source:e.textOrNull("source"),workflow:e.text("workflow_name"),requestedBy:e.text("requested_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),closedAt:e.dateOrNull("closed_at"),closedBy:e.textOrNull("closed_by")}}s(Ut,"consentOf");var Cn=ne("run","FAILING"),bu=_("runs.overdue",`
select run.tenant_id, run.run_id, run.status, run.deadline_at, ${z("run.deadline_at")}
from ghouls.runs run
where run.deadline_at <= ghouls.clock() and run.status in (${I(Cn)}) and run.quarantined_at is null
  and ${G("run.deadline_at","run.run_id",2)}
order by run.deadline_at, run.run_id
limit $1`),Eu=g("runs.fail-overdue",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(Cn)})
    and run.quarantined_at is null and run.deadline_at <= ghouls.clock()
  for update
), ${Sn("$5")}
update ghouls.runs run
set status = 'FAILING', error_code = 'deadline', error_text = $3, error_digest = $4,
  open_items = run.open_items + (select count(*) from worker_item)::integer + (select count(*) from effect_item)::integer
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and (select count(*) from fenced) >= 0
returning run.status`);async function Mo(n,e,t){let r=await n.run(bu,[e,...K(t)]);return B(r,e,o=>{let i=p(o);return{tenantId:i.text("tenant_id"),runId:i.text("run_id"),status:i.text("status"),deadlineAt:i.date("deadline_at")}})}s(Mo,"readOverdueRuns");async function jo(n,e,t){return n.transaction("runs.fail-overdue",async r=>{await C(r,[e]);let{tenantId:o,runId:i,errorText:a,errorDigest:d}=e,[u]=await r.run(Eu,[o,i,a,d,t]);return u===void 0?null:await M(r,e)??p(u).text("status")})}s(jo,"failOverdueRun");var Su=_("deliveries.expired-holds",`
select d.tenant_id, d.run_id, d.hold_expires_at, ${z("d.hold_expires_at")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'HELD' and d.hold_expires_at <= ghouls.clock() and run.status = 'QUEUED' and run.quarantined_at is null
  and ${G("d.hold_expires_at","d.run_id",2)}
order by d.hold_expires_at, d.run_id
limit $1`),vu=g("deliveries.expire-holds",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) as q(tenant_id, run_id, error_text, error_digest)
), expired as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.error_text, wanted.error_digest
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = run.enqueue_seq
  where ${Je("run.status","FAILING")} and run.quarantined_at is null
    and d.status = 'HELD' and ${bn("d.status","FENCED")} and d.hold_expires_at <= ghouls.clock()
  order by d.run_id
  for update of d
), fenced as (
  update ghouls.deliveries d
  set status = 'FENCED', fenced_at = ghouls.clock()
  from expired
  where d.tenant_id = expired.tenant_id and d.run_id = expired.run_id and d.seq = expired.seq
  returning d.tenant_id, d.run_id
)
update ghouls.runs run
set status = 'FAILING', error_code = 'hold_expired', error_text = expired.error_text, error_digest = expired.error_digest
from fenced
join expired on expired.tenant_id = fenced.tenant_id and expired.run_id = fenced.run_id
where run.tenant_id = fenced.tenant_id and run.run_id = fenced.run_id
returning run.tenant_id, run.run_id, run.status`);async function zo(n,e,t){let r=await n.run(Su,[e,...K(t)]);return B(r,e,o=>({...Fo(o),expiredAt:p(o).date("hold_expires_at")}))}s(zo,"readExpiredHolds");async function Go(n,e){return e.length===0?[]:n.transaction("deliveries.expire-holds",async t=>{await C(t,e);let r=await t.run(vu,[e.map(i=>i.tenantId),e.map(i=>i.runId),e.map(i=>i.errorText),e.map(i=>i.errorDigest)]),o=[];for(let i of r){let a=Fo(i),d=p(i).text("status");o.push({...a,status:await M(t,a)??d})}return o})}s(Go,"expireHolds");function Fo(n){return{tenantId:p(n).text("tenant_id"),runId:p(n).text("run_id")}}s(Fo,"keyOf");var Cu=g("intents.open",`
with ${R($)}
insert into ghouls.intents (tenant_id, run_id, epoch, scope, kind, name, nth, number, seq, token, started_at)
select held.tenant_id, held.run_id, $5, $6, $7, $8, $9, $10, held.seq, held.token, ghouls.clock()
from held
on conflict do nothing
returning number`),Au=_("intents.of-call",`
select i.number
from ghouls.intents i
where i.tenant_id = $1 and i.run_id = $2 and i.epoch = $3 and i.scope = $4 and i.kind = $5 and i.name = $6 and i.nth = $7
  and i.number = $8 and i.token = $9 and i.outcome is null`),Du=g("intents.close",`
with ${R($)}
update ghouls.intents i
set outcome = $11, outcome_at = ghouls.clock()
from held
where i.tenant_id = held.tenant_id and i.run_id = held.run_id and i.epoch = $5 and i.scope = $6 and i.kind = $7
  and i.name = $8 and i.nth = $9 and i.number = $10 and i.outcome is null
returning i.number`),Ru=_("intents.open-of-run",`
select i.epoch, i.scope, i.kind, i.name, i.nth, i.number, i.seq, i.token,
  (d.status = 'SETTLED' and d.outcome <> 'lost') or item.acknowledged_at is not null
    or coalesce(item.over_at, d.acts_until) <= ghouls.clock() as over,
  coalesce(item.over_at, d.acts_until) as over_at
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
left join ghouls.containment_items item
  on item.tenant_id = i.tenant_id and item.run_id = i.run_id and item.kind = 'worker' and item.token = i.token
where i.tenant_id = $1 and i.run_id = $2 and i.outcome is null
order by i.started_at, i.number`),$u=_("intents.last-numbers",`
select i.epoch, i.scope, i.kind, i.name, i.nth, max(i.number) as number,
  (count(*) filter (where i.outcome = 'not_done' or d.outcome is distinct from 'lost'))::integer as tries
from ghouls.intents i
join ghouls.deliveries d on d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.seq = i.seq
where i.tenant_id = $1 and i.run_id = $2
group by i.epoch, i.scope, i.kind, i.name, i.nth`);function Wt(n){return[n.epoch,n.scope,n.kind,n.name,n.nth]}s(Wt,"callOf");async function Uo(n,e,t,r){return(await n.run(Cu,[e.tenantId,e.runId,e.seq,e.token,...Wt(t),r])).length===1?!0:(await n.run(Au,[e.tenantId,e.runId,...Wt(t),r,e.token])).length===1}s(Uo,"openIntentIfClaimed");async function Wo(n,e,t,r,o){let i=[e.tenantId,e.runId,e.seq,e.token];return(await n.run(Du,[...i,...Wt(t),r,o])).length===1}s(Wo,"closeIntentIfClaimed");async function Ko(n,e){return(await n.run(Ru,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),seq:o.number("seq"),token:o.text("token"),over:r.over===!0,overAt:o.dateOrNull("over_at")}})}s(Ko,"readOpenIntents");async function Bo(n,e){return(await n.run($u,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{epoch:o.number("epoch"),scope:o.text("scope"),kind:o.text("kind"),name:o.text("name"),nth:o.number("nth"),number:o.number("number"),tries:o.number("tries")}})}s(Bo,"readLastIntents");var Nu=_("items.of-run",`
select i.kind, i.key, i.seq, i.worker, i.over_at, i.created_at, i.tries, i.last_error, i.acknowledged_at, i.acknowledged_by,
  i.acknowledgement
from ghouls.containment_items i
where i.tenant_id = $1 and i.run_id = $2
order by i.created_at, i.kind, i.key`),Pu=_("items.due",`
select i.tenant_id, i.run_id, ${z("i.due_at")}
from (
  (select i.tenant_id, i.run_id, i.next_look_at as due_at
  from ghouls.containment_items i
  where i.acknowledged_at is null and i.next_look_at <= ghouls.clock() and ${G("i.next_look_at","i.run_id",2)}
  order by i.next_look_at, i.run_id
  limit $1)
  union all
  (select run.tenant_id, run.run_id, run.created_at
  from ghouls.runs run
  where run.status in (${I(O)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status = 'CLAIMED')
    and ${G("run.created_at","run.run_id",2)}
  order by run.created_at, run.run_id
  limit $1)
) as i
order by i.due_at, i.run_id
limit $1`),Lu=g("items.acknowledge-over",`
with over as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.kind = 'worker' and i.acknowledged_at is null and i.over_at <= ghouls.clock()
  order by i.kind, i.key
  for update
), acknowledged as (
  update ghouls.containment_items i
  set acknowledged_at = ghouls.clock(), acknowledged_by = 'time',
    acknowledgement = 'nothing of its claim can act any more'
  from over
  where i.tenant_id = over.tenant_id and i.run_id = over.run_id and i.kind = over.kind and i.key = over.key
  returning i.run_id
)
update ghouls.runs run
set open_items = run.open_items - (select count(*) from acknowledged)::integer
where run.tenant_id = $1 and run.run_id = $2 and (select count(*) from acknowledged) > 0
returning run.open_items`),Tu=g("items.look-later",`
with due as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.tenant_id = $1 and i.run_id = $2 and i.acknowledged_at is null and i.next_look_at <= ghouls.clock()
  order by i.kind, i.key
  for update
)
update ghouls.containment_items i
set tries = i.tries + 1,
  next_look_at = greatest(coalesce(i.over_at, ghouls.clock()),
    ghouls.clock() + least(600, 5 * power(2, least(i.tries, 8))) * interval '1 second')
from due
where i.tenant_id = due.tenant_id and i.run_id = due.run_id and i.kind = due.kind and i.key = due.key
returning case
  when i.kind = 'worker' then i.over_at is null and i.tries >= 3
  else not exists (
      select from ghouls.containment_items other
      where other.tenant_id = i.tenant_id and other.run_id = i.run_id and other.kind = 'worker'
        and other.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = i.tenant_id and d.run_id = i.run_id and d.cause = 'contain') >= $3
  end as needs_word`),Mu=g("deliveries.contain",`
with r as materialized (
  select run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.status in (${I(O)})
    and (run.quarantined_at is null or run.status = 'CANCELLING')
    and exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'effect' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.containment_items i
      where i.tenant_id = run.tenant_id and i.run_id = run.run_id and i.kind = 'worker' and i.acknowledged_at is null)
    and not exists (
      select from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.status in ('HELD', 'PENDING', 'CLAIMED'))
    and (select count(*) from ghouls.deliveries d
      where d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.cause = 'contain') < $3
  for update
), numbered as (
  update ghouls.runs run
  set enqueue_seq = r.enqueue_seq + 1
  from r
  where run.tenant_id = r.tenant_id and run.run_id = r.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, due_at, next_publication_at, created_at)
select n.tenant_id, n.run_id, n.enqueue_seq, 'contain', 'PENDING', n.queue, n.priority, later.due_at, later.due_at, ghouls.clock()
from numbered n
cross join lateral (
  select ghouls.clock() + case when count(*) = 0 then interval '0' else 30 * power(4, count(*) - 1) * interval '1 second' end as due_at
  from ghouls.deliveries d
  where d.tenant_id = n.tenant_id and d.run_id = n.run_id and d.cause = 'contain'
) as later
returning seq`);async function Ho(n,e){return(await n.run(Nu,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{kind:o.text("kind"),key:o.text("key"),seq:o.number("seq"),worker:o.text("worker"),overAt:o.dateOrNull("over_at"),createdAt:o.date("created_at"),tries:o.number("tries"),lastError:o.textOrNull("last_error"),acknowledgedAt:o.dateOrNull("acknowledged_at"),acknowledgedBy:o.textOrNull("acknowledged_by"),acknowledgement:o.textOrNull("acknowledgement")}})}s(Ho,"readItems");async function Jo(n,e,t){let r=await n.run(Pu,[e,...K(t)]),{found:o,next:i}=B(r,e,a=>({tenantId:p(a).text("tenant_id"),runId:p(a).text("run_id")}));return{found:[...new Map(o.map(a=>[a.runId,a])).values()],next:i}}s(Jo,"readDueItems");async function Kt(n,e,t){let r=[e.tenantId,e.runId];return n.transaction("items.contain",async o=>{await C(o,[e]),(await o.run(Lu,r)).length>0&&await In(o,e);let i=await M(o,e);if(i!==null)return{ended:i,contain:!1,needsWord:!1};let a=await o.run(Mu,[...r,t]),d=await o.run(Tu,[...r,t]);return{ended:i,contain:a.length===1,needsWord:a.length===0&&d.some(u=>u.needs_word===!0)}})}s(Kt,"containRun");var Bt=`k.tenant_id, k.key_id, k.subject, k.roles, k.permissions, k.created_by, k.created_at, k.expires_at, k.last_used_at,
  k.revoked_at, k.revoked_by, k.revocation_reason, coalesce(k.expires_at <= ghouls.clock(), false) as expired`,zu=_("keys.by-id",`
select ${Bt}, k.digest, coalesce(k.last_used_at < ghouls.clock() - interval '1 hour', true) as use_is_due
from ghouls.api_keys k
where k.key_id = $1`),Gu=g("keys.mark-used",`
update ghouls.api_keys k
set last_used_at = ghouls.clock()
where k.tenant_id = $1 and k.key_id = $2
  and (k.last_used_at is null or k.last_used_at < ghouls.clock() - interval '1 hour')`),Fu=g("keys.create",`
insert into ghouls.api_keys (tenant_id, key_id, digest, subject, roles, permissions, created_by, created_at, expires_at)
select q.tenant_id, q.key_id, q.digest, q.subject, array(select jsonb_array_elements_text(q.roles::jsonb)),
  array(select jsonb_array_elements_text(q.permissions::jsonb)), coalesce(q.created_by, 'database role ' || session_user),
  ghouls.clock(), ghouls.clock() + q.expires_ms * interval '1 millisecond'
from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::double precision[])
  as q(tenant_id, key_id, digest, subject, roles, permissions, created_by, expires_ms)
order by q.key_id
on conflict (key_id) do nothing`),Uu=_("keys.page",`
select ${Bt}
from ghouls.api_keys k
order by k.created_at desc, k.key_id
limit $1`),Wu=_("keys.page-of-tenant",`
select ${Bt}
from ghouls.api_keys k
where k.tenant_id = $1
order by k.created_at desc, k.key_id
limit $2`),Ku=g("keys.revoke",`
update ghouls.api_keys k
set revoked_at = ghouls.clock(), revoked_by = coalesce($2::text, 'database role ' || session_user), revocation_reason = $3
where k.key_id = $1 and k.revoked_at is null
returning k.tenant_id, k.key_id`);async function An(n,e){let[t]=await n.run(zu,[e]);if(t===void 0)return null;let r=p(t);return{...ni(t),digest:r.text("digest"),useIsDue:r.boolean("use_is_due")}}s(An,"readKey");async function Vo(n,e){await n.run(Gu,[e.tenantId,e.keyId])}s(Vo,"markKeyUsed");async function Qo(n,e){let t=s(r=>e.map(r),"column");return await ei(n,Fu,[t(r=>r.tenantId),t(r=>r.keyId),t(r=>r.digest),t(r=>r.subject),t(r=>JSON.stringify(r.roles)),t(r=>JSON.stringify(r.permissions)),t(r=>r.createdBy),t(r=>r.expiresInMs)]),Promise.all(e.map(r=>Bu(n,r)))}s(Qo,"createKeys");async function Bu(n,{tenantId:e,keyId:t,digest:r}){let o=await An(n,t);if(o!==null&&o.tenantId===e&&Ne(o.digest,r))return Zo(o);throw new y("idempotency_conflict",`the id ${t} is another key's`,{fix:"Make a key anew: its id is random."})}s(Bu,"readMade");async function Yo(n,e,t){return(e.tenantId===void 0?await n.run(Uu,[t]):await n.run(Wu,[e.tenantId,t])).map(ni)}s(Yo,"readKeyPage");async function Xo(n,e,t){let r=await ei(n,Ku,[e,t.actor,t.reason]),o=await An(n,e);return o===null?null:{revoked:r.length>0,key:Zo(o)}}s(Xo,"revokeKey");function Zo({digest:n,useIsDue:e,...t}){return t}s(Zo,"shown");async function ei(n,e,t){try{return await n.run(e,t)}catch(r){throw!(r instanceof v)||r.sqlState!=="42501"?r:new y("configuration_invalid","this role may not manage keys",{fix:"Give the connection string of the role that owns the schema (GHOULS_MIGRATION_DATABASE_URL): the application's only reads keys.",cause:r})}}s(ei,"asManager");function ni(n){let e=p(n);return{tenantId:e.text("tenant_id"),keyId:e.text("key_id"),subject:e.text("subject"),roles:e.texts("roles"),permissions:e.texts("permissions"),createdBy:e.text("created_by"),createdAt:e.date("created_at"),expiresAt:e.dateOrNull("expires_at"),lastUsedAt:e.dateOrNull("last_used_at"),revokedAt:e.dateOrNull("revoked_at"),revokedBy:e.textOrNull("revoked_by"),revocationReason:e.textOrNull("revocation_reason"),expired:e.boolean("expired")}}s(ni,"keyOf");var Ju=_("deliveries.lapsed",`
select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, run.status, run.on_worker_loss, run.losses,
  ${z("d.lease_until")}
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
where d.status = 'CLAIMED' and d.lease_until < ghouls.clock() and ($2::uuid[] is null or d.run_id = any($2::uuid[]))
  and ${G("d.lease_until","d.run_id",3)}
order by d.lease_until, d.run_id
limit $1`),Vu=g("deliveries.settle-lost",`
with wanted as materialized (
  select q.* from unnest($1::text[], $2::uuid[], $3::integer[], $4::uuid[], $5::text[], $6::text[])
    as q(tenant_id, run_id, seq, token, error_text, error_digest)
), lost as materialized (
  select d.tenant_id, d.run_id, d.seq, d.token, d.claimed_by, d.checkpoint_generation, wanted.error_text, wanted.error_digest,
    case when d.worker_ended_at is null then d.acts_until
      else least(d.acts_until, d.worker_ended_at + $8::double precision * interval '1 second') end as over_at,
    run.status as run_status,
    case when run.status in (${I(O)}) then run.status
      when run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer then 'QUEUED'
      else 'FAILING' end as next_status
  from wanted
  join ghouls.runs run on run.tenant_id = wanted.tenant_id and run.run_id = wanted.run_id
  join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = wanted.seq
  where d.status = 'CLAIMED' and d.token = wanted.token and d.lease_until < ghouls.clock()
    and (char_length(wanted.error_digest) > 0 or run.status in (${I(O)})
      or (run.on_worker_loss = 'resume' and run.losses + 1 < $7::integer))
  order by d.run_id
  for update of d
), settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'lost', settled_at = ghouls.clock()
  from lost
  where t.tenant_id = lost.tenant_id and t.run_id = lost.run_id and t.seq = lost.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at, t.queue, t.priority
), worker_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, over_at, created_at, next_look_at)
  select lost.tenant_id, lost.run_id, 'worker', lost.seq::text, lost.seq, lost.token, lost.claimed_by, lost.over_at,
    settled.settled_at, coalesce(lost.over_at, settled.settled_at)
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  returning tenant_id, run_id
), unknown as materialized (
  select i.tenant_id, i.run_id, ${oe} as key, i.seq, i.token, lost.claimed_by
  from settled
  join lost on lost.tenant_id = settled.tenant_id and lost.run_id = settled.run_id
  join ghouls.intents i on i.tenant_id = lost.tenant_id and i.run_id = lost.run_id
  where i.outcome is null and lost.next_status = 'FAILING' and lost.run_status <> 'FAILING'
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select u.tenant_id, u.run_id, 'effect', u.key, u.seq, u.token, u.claimed_by, ghouls.clock(), ghouls.clock()
  from unknown u
  on conflict (tenant_id, run_id, kind, key) do nothing
  returning tenant_id, run_id
), moved as (
  update ghouls.runs run
  set status = lost.next_status,
    losses = run.losses + case when lost.next_status = lost.run_status then 0 else 1 end,
    enqueue_seq = run.enqueue_seq + case when lost.next_status = 'QUEUED' then 1 else 0 end,
    open_items = run.open_items + 1 + (
      select count(*) from effect_item e where e.tenant_id = run.tenant_id and e.run_id = run.run_id)::integer,
    error_code = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then 'ghoul_lost' else run.error_code end,
    error_text = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_text else run.error_text end,
    error_digest = case when lost.next_status = 'FAILING' and lost.run_status <> 'FAILING' then lost.error_digest else run.error_digest end
  from lost
  join worker_item w on w.tenant_id = lost.tenant_id and w.run_id = lost.run_id
  where run.tenant_id = lost.tenant_id and run.run_id = lost.run_id
  returning run.tenant_id, run.run_id, run.status, run.enqueue_seq, run.queue, run.priority, lost.checkpoint_generation
), next as (
  insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
    next_publication_at, created_at)
  select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'recovered', 'PENDING', moved.queue, moved.priority,
    moved.checkpoint_generation, ghouls.clock(), ghouls.clock() + $9::double precision * interval '1 second', ghouls.clock()
  from moved
  where moved.status = 'QUEUED'
  returning run_id
)
select moved.tenant_id, moved.run_id, moved.status, moved.enqueue_seq, moved.queue
from moved
left join next on next.run_id = moved.run_id`);async function ti(n,e,{after:t,runIds:r=null}={}){let o=await n.run(Ju,[e,r,...K(t)]);return B(o,e,i=>{let a=p(i);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),seq:a.number("seq"),token:a.text("token"),worker:a.text("claimed_by"),runStatus:a.text("status"),onWorkerLoss:a.text("on_worker_loss"),losses:a.number("losses")}})}s(ti,"readLapsedClaims");async function ri(n,e,t){return e.length===0?[]:n.transaction("deliveries.settle-lost",async r=>(await C(r,e),(await r.run(Vu,[e.map(i=>i.tenantId),e.map(i=>i.runId),e.map(i=>i.seq),e.map(i=>i.token),e.map(i=>i.errorText),e.map(i=>i.errorDigest),t.maxLosses,t.actsMarginSeconds,t.publisherGraceSeconds])).map(i=>{let a=p(i);return{tenantId:a.text("tenant_id"),runId:a.text("run_id"),status:a.text("status"),enqueueSeq:a.number("enqueue_seq"),queue:a.text("queue")}})))}s(ri,"settleLostClaims");var ii="d.tenant_id, d.run_id, d.seq, d.token, d.cause, d.claimed_at, d.acts_until, d.checkpoint_generation",Ht=`run.workflow_name, run.workflow_version, run.workflow_digest, run.first_run_id, run.queue, run.agent,
  run.requested_by, run.input_text, run.input_digest, run.journal_length, run.journal_bytes, run.created_at,
  run.deadline_at, run.epoch, run.journal_start, run.idle_yields, run.workflow_absent_since, run.open_items`,Yu=g("deliveries.claim",`
with wanted as materialized (
  select q.run_id, q.seq, q.token from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
), r as materialized (
  select run.tenant_id, run.run_id, run.status, run.paused_at, run.quarantined_at
  from ghouls.runs run
  where run.run_id = any($1::uuid[])
  order by run.run_id
  for update
), d as materialized (
  select d.tenant_id, d.run_id, d.seq, wanted.token
  from r
  join wanted on wanted.run_id = r.run_id
  join ghouls.deliveries d on d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.seq = wanted.seq
  where (select count(*) from r) >= 0 
    and ((d.cause <> 'contain' and r.status = 'QUEUED' and r.paused_at is null and r.quarantined_at is null)
      or (d.cause = 'contain' and r.status in (${I(O)})
        and (r.quarantined_at is null or r.status = 'CANCELLING')))
    and ${bn("d.status","CLAIMED")} and d.due_at <= ghouls.clock()
  order by d.run_id, d.seq
  for update of d
), claimed as (
  update ghouls.deliveries t
  set status = 'CLAIMED', token = d.token, claimed_by = $4, claimed_at = ghouls.clock(),
    lease_until = ghouls.clock() + $5::double precision * interval '1 second',
    acts_until = ghouls.clock() + $6::double precision * interval '1 second'
  from d
  where t.tenant_id = d.tenant_id and t.run_id = d.run_id and t.seq = d.seq
  returning t.tenant_id, t.run_id, t.seq, t.token, t.cause, t.claimed_at, t.acts_until, t.checkpoint_generation
), running as (
  update ghouls.runs run
  set status = case when claimed.cause = 'contain' then run.status else 'RUNNING' end,
    started_at = coalesce(run.started_at, claimed.claimed_at)
  from claimed
  where run.tenant_id = claimed.tenant_id and run.run_id = claimed.run_id
  returning run.tenant_id, run.run_id, ${Ht}
)
select ${ii}, ${Ht}
from claimed d
join running run on run.tenant_id = d.tenant_id and run.run_id = d.run_id`),Xu=_("deliveries.claimed-by-token",`
select ${ii}, ${Ht}
from unnest($1::uuid[], $2::integer[], $3::uuid[]) as q(run_id, seq, token)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq and d.token = q.token
where d.status = 'CLAIMED'`),Zu=_("deliveries.unclaimed",`
select d.run_id, d.seq, run.status as run_status, d.status as delivery_status, d.cause, run.enqueue_seq,
  run.paused_at is not null as paused, run.quarantined_at is not null as quarantined,
  extract(epoch from d.due_at - ghouls.clock())::double precision as due_in,
  extract(epoch from d.lease_until - ghouls.clock())::double precision as lease_ends_in
from unnest($1::uuid[], $2::integer[]) as q(run_id, seq)
join ghouls.runs run on run.run_id = q.run_id
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = q.seq`);async function si(n,e,t){let r=di(e),o=e.map(d=>d.token),i=await n.run(Yu,[...r,o,t.worker,t.leaseSeconds,t.actsForSeconds]);return i.length===e.length?i.map(oi):(await n.run(Xu,[...r,o])).map(oi)}s(si,"claimDeliveriesIfDue");async function ai(n,e){let t=await n.run(Zu,di(e));return new Map(t.map(r=>{let o=p(r);return[`${o.text("run_id")}:${o.number("seq")}`,{runStatus:o.text("run_status"),deliveryStatus:o.text("delivery_status"),cause:o.text("cause"),currentSeq:o.number("enqueue_seq"),seq:o.number("seq"),paused:o.boolean("paused"),quarantined:o.boolean("quarantined"),dueInSeconds:o.number("due_in"),leaseEndsInSeconds:o.numberOrNull("lease_ends_in")}]}))}s(ai,"readUnclaimed");function di(n){return[n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}s(di,"arrays");function oi(n){let e=p(n);return{tenantId:e.text("tenant_id"),runId:e.text("run_id"),seq:e.number("seq"),token:e.text("token"),cause:e.text("cause"),workflow:{name:e.text("workflow_name"),version:e.number("workflow_version"),digest:e.text("workflow_digest")},firstRunId:e.text("first_run_id"),queue:e.text("queue"),agent:e.textOrNull("agent"),requestedBy:e.text("requested_by"),inputText:e.text("input_text"),inputDigest:e.text("input_digest"),journalLength:e.number("journal_length"),journalBytes:e.number("journal_bytes"),admittedAt:e.date("created_at"),deadlineAt:e.dateOrNull("deadline_at"),checkpointGeneration:e.numberOrNull("checkpoint_generation"),epoch:e.number("epoch"),journalStart:e.number("journal_start"),idleYields:e.number("idle_yields"),workflowAbsentSince:e.dateOrNull("workflow_absent_since"),claimedAt:e.date("claimed_at"),actsUntil:e.dateOrNull("acts_until")}}s(oi,"claimedRun");var el=g("deliveries.record-worker-end",`
with lost as materialized (
  select d.tenant_id, d.run_id, d.seq
  from ghouls.deliveries d
  where d.claimed_by = $1 and d.status = 'CLAIMED' and d.worker_ended_at is null
  order by d.tenant_id, d.run_id, d.seq
  for update
)
update ghouls.deliveries d
set worker_ended_at = ghouls.clock(), worker_end = $2, lease_until = least(d.lease_until, ghouls.clock())
from lost
where d.tenant_id = lost.tenant_id and d.run_id = lost.run_id and d.seq = lost.seq
returning d.run_id`),nl=g("items.record-worker-end",`
with item as materialized (
  select i.tenant_id, i.run_id, i.kind, i.key
  from ghouls.containment_items i
  where i.worker = $1 and i.kind = 'worker' and i.acknowledged_at is null
  order by i.tenant_id, i.run_id, i.kind, i.key
  for update
)
update ghouls.containment_items i
set over_at = least(i.over_at, ghouls.clock() + $2::double precision * interval '1 second'),
  next_look_at = least(i.next_look_at, ghouls.clock() + $2::double precision * interval '1 second')
from item
where i.tenant_id = item.tenant_id and i.run_id = item.run_id and i.kind = item.kind and i.key = item.key
returning i.run_id`);async function ui(n,e){let t=await n.run(el,[e.worker,e.how]);return await n.run(nl,[e.worker,e.actsMarginSeconds??tl]),t.length}s(ui,"recordWorkerEnd");var tl=60;var ol=g("journal.append",`
with ${R($)}, entry as (
  insert into ghouls.journal (tenant_id, run_id, ordinal, epoch, scope, kind, name, nth, outcome, result_text,
    result_digest, tries, seq, token, started_at, completed_at)
  select held.tenant_id, held.run_id, held.journal_length + 1, $5, $6, $7, $8, $9, $10, $11, $12, $13, held.seq, held.token,
    date_trunc('milliseconds', ghouls.clock()) - $14::double precision * interval '1 millisecond',
    date_trunc('milliseconds', ghouls.clock())
  from held
  on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) do nothing
  returning tenant_id, run_id, ordinal, completed_at
), effect as (
  update ghouls.intents i
  set outcome = case when $10 = 'ok' then 'happened' else 'failed' end, outcome_at = entry.completed_at
  from entry
  where $16::boolean and i.tenant_id = entry.tenant_id and i.run_id = entry.run_id and i.epoch = $5 and i.scope = $6
    and i.kind = $7 and i.name = $8 and i.nth = $9 and i.outcome is null
  returning i.run_id
), counted as (
  update ghouls.runs run
  set journal_length = entry.ordinal, journal_bytes = run.journal_bytes + $15::bigint, losses = 0, idle_yields = 0
  from entry
  where run.tenant_id = entry.tenant_id and run.run_id = entry.run_id
  returning run.run_id
)
select entry.ordinal, entry.completed_at from entry join counted on counted.run_id = entry.run_id
  and (select count(*) from effect) >= 0`),il=_("journal.entry-of-call",`
select j.ordinal, j.completed_at, j.token, j.outcome, j.result_digest
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.epoch = $3 and j.scope = $4 and j.kind = $5 and j.name = $6 and j.nth = $7`),sl=_("journal.read",`
select j.ordinal, j.epoch, j.scope, j.kind, j.name, j.nth, j.outcome, j.result_text, j.result_digest, j.tries, j.seq,
  j.token, j.started_at, j.completed_at
from ghouls.journal j
where j.tenant_id = $1 and j.run_id = $2 and j.ordinal > $3
order by j.ordinal`);async function ci(n,e,t){let r=[t.epoch,t.scope,t.kind,t.name,t.nth],[o]=await n.run(ol,[e.tenantId,e.runId,e.seq,e.token,...r,t.outcome,t.resultText,t.resultDigest,t.tries,t.tookMs,t.resultBytes,t.closesIntent??!1]);if(o!==void 0)return li(o);let[i]=await n.run(il,[e.tenantId,e.runId,...r]);return i!==void 0&&i.token===e.token&&i.outcome===t.outcome&&i.result_digest===t.resultDigest?li(i):null}s(ci,"appendEntryIfClaimed");function li(n){let e=p(n);return{ordinal:e.number("ordinal"),completedAt:e.date("completed_at")}}s(li,"appended");async function mi(n,e,t=0){return(await n.run(sl,[e.tenantId,e.runId,t])).map(o=>{let i=p(o);return{ordinal:i.number("ordinal"),epoch:i.number("epoch"),scope:i.text("scope"),kind:i.text("kind"),name:i.text("name"),nth:i.number("nth"),outcome:i.text("outcome"),resultText:i.textOrNull("result_text"),resultDigest:i.textOrNull("result_digest"),tries:i.number("tries"),seq:i.number("seq"),token:i.text("token"),startedAt:i.date("started_at"),completedAt:i.date("completed_at")}})}s(mi,"readJournal");var dl=_("ledger.next-look",`
select extract(epoch from min(due.due_at) - ghouls.clock())::double precision as due_in
from (
  (select ghouls.clock() as due_at
  from ghouls.deliveries d
  where d.status = 'CLAIMED'
  order by d.lease_until
  limit 1)
  union all
  select pending.next_publication_at
  from generate_series(9, 0, -1) as p(priority)
  cross join lateral (
    select d.next_publication_at
    from ghouls.deliveries d
    join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
    where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at is not null
      and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
        or (d.cause = 'contain' and run.status in (${I(O)})
          and (run.quarantined_at is null or run.status = 'CANCELLING')))
    order by d.next_publication_at
    limit 1
  ) as pending
  union all
  (select d.hold_expires_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'HELD' and run.status = 'QUEUED' and run.quarantined_at is null
  order by d.hold_expires_at
  limit 1)
  union all
  (select i.next_look_at
  from ghouls.containment_items i
  where i.acknowledged_at is null
  order by i.next_look_at
  limit 1)
  union all
  (select a.due_at
  from ghouls.arms a
  join ghouls.runs run on run.tenant_id = a.tenant_id and run.run_id = a.run_id
  where a.closed_at is null and a.due_at is not null and run.status in (${I(vn)})
    and run.quarantined_at is null
  order by a.due_at
  limit 1)
  union all
  (select c.next_look_at
  from ghouls.consents c
  where c.status = 'PENDING' and c.source is not null
  order by c.next_look_at
  limit 1)
  union all
  (select run.deadline_at
  from ghouls.runs run
  where run.deadline_at is not null and run.status in (${I(Cn)}) and run.quarantined_at is null
  order by run.deadline_at
  limit 1)
  union all
  (select ghouls.clock()
  from ghouls.runs run
  where run.status in (${I(O)}) and run.open_items = 0
    and (run.quarantined_at is null or run.status = 'CANCELLING')
  order by run.created_at
  limit 1)
) as due`);async function fi(n){let[e]=await n.run(dl,[]);return e===void 0?null:p(e).numberOrNull("due_in")}s(fi,"readNextLook");var ul=g("arms.open",`
with ${R($)}, wanted as materialized (
  select q.* from unnest($6::uuid[], $7::integer[], $8::text[], $9::text[], $10::text[], $11::integer[], $12::text[],
    $13::timestamptz[], $14::integer[], $15::double precision[])
    as q(arm_id, epoch, scope, kind, name, nth, owner, due_at, tries, due_in)
)
insert into ghouls.arms as a (tenant_id, run_id, arm_id, epoch, scope, kind, name, nth, owner, generation, seq, due_at, tries,
  created_at)
select held.tenant_id, held.run_id, w.arm_id, w.epoch, w.scope, w.kind, w.name, w.nth, w.owner, held.generation + 1, held.seq,
  coalesce(w.due_at, ghouls.clock() + w.due_in * interval '1 second'), w.tries, ghouls.clock()
from held cross join wanted w
where held.journal_length = $5
on conflict (tenant_id, run_id, epoch, scope, kind, name, nth) where closed_at is null
do update set generation = excluded.generation,
  due_at = case when excluded.tries > a.tries then excluded.due_at else a.due_at end,
  tries = greatest(a.tries, excluded.tries)
returning a.arm_id`),ll=g("consents.open",`
insert into ghouls.consents (tenant_id, run_id, consent_id, arm_id, status, title, request_text, stored_digest, request_digest,
  deciders, quorum, requester_may_decide, on_expiry, source, next_look_at, created_at, expires_at)
select a.tenant_id, a.run_id, $4, a.arm_id, 'PENDING', $5, $6, $7, $8, $9::text[], $10, $11, $12, $13,
  case when $13::text is null then null else a.created_at end, a.created_at, a.due_at
from ghouls.arms a
where a.tenant_id = $1 and a.run_id = $2 and a.arm_id = $3 and a.closed_at is null
on conflict (tenant_id, run_id, arm_id) do nothing
returning consent_id`),cl=g("arms.close-steps",`
update ghouls.arms a
set closed_at = ghouls.clock(), closing = 'step'
where a.tenant_id = $1 and a.run_id = $2 and a.closed_at is null and a.kind = 'step' and a.generation < $3
returning a.arm_id`),ml=g("deliveries.park",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'parked', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and held.journal_length = $6
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = $8, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.generation, run.status, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
), wait as (
  insert into ghouls.waits (tenant_id, run_id, generation, seq, opened_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, moved.settled_at
  from moved
  returning run_id
)
select moved.status
from moved
join checkpoint on checkpoint.run_id = moved.run_id
join wait on wait.run_id = moved.run_id`),fl=g("deliveries.continue",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, $6, $7, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'resumed', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $8::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`),pl=_("deliveries.parked",`
select d.outcome, run.status, next.seq, next.queue
from ghouls.deliveries d
join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
left join ghouls.deliveries next on next.tenant_id = d.tenant_id and next.run_id = d.run_id and next.seq = d.seq + 1
where d.tenant_id = $1 and d.run_id = $2 and d.seq = $3 and d.token = $4 and d.status = 'SETTLED'
  and d.outcome in ('parked', 'continued')`);async function pi(n,e,t,r,o){return n.transaction("deliveries.park",async i=>{await C(i,[e]);let a=await i.run(ul,[...Dn(e),t.journalLength,...wl(r)]);if(a.length!==r.length)return _l(i,e);let d=new Set(a.map(x=>p(x).text("arm_id")));for(let{armId:x,consent:U}of r)U!==void 0&&d.has(x)&&await hl(i,e,x,U);let u=await Ye(i,e),l=Math.max(...u.map(x=>x.generation));await i.run(cl,[e.tenantId,e.runId,l]);let m=u.filter(x=>x.generation===l||x.call.kind!=="step"),f=gl(m,l,r);if(f!==void 0)throw new Rn(f);let h=[t.workflowDigest,t.journalLength,t.journalDigest],k=await Tt(i,e);if(k.length===0){let x=St(m.map(({owner:ce})=>ce)),[U]=await i.run(ml,[...Dn(e),...h,x]);if(U===void 0)throw new TypeError("a run that is locked and held was not parked");return{kind:"parked",status:x,arms:m}}await Mt(i,e,e.seq,k);let[b]=await i.run(fl,[...Dn(e),...h,o.publisherGraceSeconds]);if(b===void 0)throw new TypeError("a run that is locked and held was not continued");return{kind:"continued",next:{enqueueSeq:p(b).number("seq"),queue:p(b).text("queue")}}}).catch(i=>{if(i instanceof Rn)return{kind:"mismatch",what:i.message};throw i})}s(pi,"parkIfClaimed");var Rn=class extends Error{static{s(this,"Mismatch")}};function gl(n,e,t){let r=n.find(o=>o.generation<e);if(r!==void 0)return`${r.call.kind} "${r.call.name}" stands open, but the code does not ask for it any more`;for(let{call:o,consent:i}of t){if(i===void 0)continue;let a=n.find(d=>yl(d.call,o));if(a!==void 0&&a.requestDigest!==i.requestDigest)return`the consent "${o.name}" was frozen with another request than the code asks for now`}}s(gl,"mismatchOf");function yl(n,e){return n.epoch===e.epoch&&n.scope===e.scope&&n.kind===e.kind&&n.name===e.name&&n.nth===e.nth}s(yl,"sameCall");async function _l(n,e){let[t]=await n.run(pl,Dn(e));if(t===void 0)return null;let r=p(t);return r.text("outcome")==="continued"?{kind:"continued",next:{enqueueSeq:r.number("seq"),queue:r.text("queue")}}:{kind:"parked",status:r.text("status"),arms:await Ye(n,e)}}s(_l,"answerOfEarlierTry");async function hl(n,e,t,r){await n.run(ll,[e.tenantId,e.runId,t,r.consentId,r.title,r.requestText,r.storedDigest,r.requestDigest,r.deciders,r.quorum,r.requesterMayDecide,r.onExpiry,r.source])}s(hl,"openConsent");function wl(n){return[n.map(({armId:e})=>e),n.map(({call:e})=>e.epoch),n.map(({call:e})=>e.scope),n.map(({call:e})=>e.kind),n.map(({call:e})=>e.name),n.map(({call:e})=>e.nth),n.map(({owner:e})=>e),n.map(({dueAt:e})=>e),n.map(({tries:e})=>e),n.map(({consent:e})=>e?.expiresInSeconds??null)]}s(wl,"columnsOf");function Dn(n){return[n.tenantId,n.runId,n.seq,n.token]}s(Dn,"keyOf");var xl=_("deliveries.due-publications",`
select due.tenant_id, due.run_id, due.seq, due.queue, due.publications
from generate_series(9, 0, -1) as p(priority)
cross join lateral (
  select d.tenant_id, d.run_id, d.seq, d.queue, d.publications, d.priority, d.next_publication_at
  from ghouls.deliveries d
  join ghouls.runs run on run.tenant_id = d.tenant_id and run.run_id = d.run_id
  where d.status = 'PENDING' and d.priority = p.priority and d.next_publication_at <= ghouls.clock()
    and ((d.cause <> 'contain' and run.status = 'QUEUED' and run.paused_at is null and run.quarantined_at is null)
      or (d.cause = 'contain' and run.status in (${I(O)})
        and (run.quarantined_at is null or run.status = 'CANCELLING')))
  order by d.next_publication_at
  limit $1
) as due
order by due.priority desc, due.next_publication_at
limit $1`),bl=g("deliveries.mark-published",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq
  from unnest($1::text[], $2::uuid[], $3::integer[]) as q(tenant_id, run_id, seq)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d
)
update ghouls.deliveries d
set publications = d.publications + 1, publication_failures = 0, publication_error = null,
  published_at = coalesce(d.published_at, ghouls.clock()),
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publications + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq
returning d.run_id`),El=g("deliveries.mark-publication-failed",`
with marked as materialized (
  select d.tenant_id, d.run_id, d.seq, q.reason
  from unnest($1::text[], $2::uuid[], $3::integer[], $5::text[]) as q(tenant_id, run_id, seq, reason)
  join ghouls.deliveries d on d.tenant_id = q.tenant_id and d.run_id = q.run_id and d.seq = q.seq
  order by d.tenant_id, d.run_id, d.seq
  for update of d skip locked
)
update ghouls.deliveries d
set publication_failures = d.publication_failures + 1, publication_error = marked.reason,
  next_publication_at = ghouls.clock()
    + ($4::double precision[])[least(d.publication_failures + 1, cardinality($4::double precision[]))] * interval '1 second'
from marked
where d.tenant_id = marked.tenant_id and d.run_id = marked.run_id and d.seq = marked.seq and d.status = 'PENDING'
returning d.run_id, d.publication_failures`);async function gi(n,e){return(await n.run(xl,[e])).map(r=>{let o=p(r);return{tenantId:o.text("tenant_id"),runId:o.text("run_id"),enqueueSeq:o.number("seq"),queue:o.text("queue"),publications:o.number("publications")}})}s(gi,"readDuePublications");async function yi(n,e,t=ln.afterSuccess){return e.length===0?0:(await n.run(bl,[...hi(e),t])).length}s(yi,"markPublished");async function _i(n,e,t=ln.afterFailure){if(e.length===0)return 0;let r=e.map(i=>i.publication),o=e.map(i=>i.reason.slice(0,500).replaceAll("\0",""));return(await n.run(El,[...hi(r),t,o])).length}s(_i,"markPublicationFailed");function hi(n){return[n.map(e=>e.tenantId),n.map(e=>e.runId),n.map(e=>e.enqueueSeq)]}s(hi,"arrays");var Sl=g("runs.clear-quarantine",`
with r as materialized (
  select run.tenant_id, run.run_id
  from ghouls.runs run
  where run.tenant_id = $1 and run.run_id = $2 and run.quarantined_at is not null
  for update
), due as (
  update ghouls.deliveries d
  set next_publication_at = greatest(d.due_at, ghouls.clock())
  from r
  where d.tenant_id = r.tenant_id and d.run_id = r.run_id and d.status = 'PENDING'
  returning d.tenant_id, d.run_id, d.seq, d.queue
)
update ghouls.runs run
set quarantined_at = null, quarantine_reason = null
from r
left join due on due.tenant_id = r.tenant_id and due.run_id = r.run_id
where run.tenant_id = r.tenant_id and run.run_id = r.run_id
returning run.status, due.seq, due.queue`);async function wi(n,e,t,r){return n.transaction("runs.clear-quarantine",async o=>{let i=(await C(o,[e])).get(e.runId);if(i===void 0)return null;let[a]=await o.run(Sl,[e.tenantId,e.runId]);if(a===void 0)return{cleared:!1,status:i,resumption:null};await xn(o,e,{...t,act:"clear",subject:"quarantine"});let d=await M(o,e);if(d!==null)return{cleared:!0,status:d,resumption:null};let u=await _e(o,e,r);if(u!==null)return{cleared:!0,status:"QUEUED",resumption:u};let l=p(a),[m,f]=[l.numberOrNull("seq"),l.textOrNull("queue")],h=m===null||f===null?null:{...e,enqueueSeq:m,queue:f};return{cleared:!0,status:l.text("status"),resumption:h}})}s(wi,"clearQuarantine");var bi=`run.tenant_id, run.run_id, run.idempotency_key, run.workflow_name, run.workflow_version, run.workflow_digest,
  run.queue, run.priority, run.agent, run.requested_by, run.status, run.enqueue_seq, run.journal_length, run.error_code,
  run.attention_reason, run.attention_at, run.quarantine_reason, run.quarantined_at, run.paused_at, run.deadline_at,
  run.created_at, run.started_at, run.finished_at`,ql=_("runs.get",`
select ${bi}, run.input_text, run.output_text, run.error_text
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2`),Ei=`
where run.tenant_id = $1
  and (run.created_at, run.run_id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::uuid)`,Vt=`
order by run.created_at desc, run.run_id desc
limit $4`,Ii=`${bi}, (extract(epoch from run.created_at) * 1000000)::bigint as created_micros`,Jt=s((n,e)=>_(`runs.page-${n}`,`
select ${Ii}
from ghouls.runs run${Ei}
  ${e}${Vt}`),"page"),ki=s((n,e)=>_(`runs.page-${n}`,`
select ${Ii}
from (select distinct q.status from unnest($5::text[]) as q(status)) as wanted
cross join lateral (
  select run.*
  from ghouls.runs run${Ei}
  and run.status = wanted.status ${e}${Vt}
) as run${Vt}`),"pageOfStatuses"),Xe={all:Jt("all",""),status:ki("status",""),workflow:Jt("workflow","and run.workflow_name = $5"),both:ki("status-workflow","and run.workflow_name = $6"),attention:Jt("attention","and (run.attention_at is not null or run.quarantined_at is not null)")},Cl=_("deliveries.of-run",`
select d.seq, d.cause, d.status, d.outcome, d.due_at, d.hold_expires_at, d.publications, d.published_at, d.claimed_by,
  d.claimed_at, d.lease_until, d.worker_ended_at, d.worker_end, d.created_at, d.settled_at, d.fenced_at
from ghouls.deliveries d
where d.tenant_id = $1 and d.run_id = $2
order by d.seq`);async function Si(n,e){let[t]=await n.run(ql,[e.tenantId,e.runId]);if(t===void 0)return null;let r=p(t);return{...Ci(r),inputText:r.textOrNull("input_text"),outputText:r.textOrNull("output_text"),errorText:r.textOrNull("error_text")}}s(Si,"readRun");async function vi(n,e,t,r){let[o,i]=r.cursor===void 0?Dl:$l(r.cursor),[a,d]=Al(t),u=await n.run(a,[e,o,i,r.limit+1,...d]),l=u.slice(0,r.limit),m=l.at(-1);return{runs:l.map(f=>Ci(p(f))),nextCursor:u.length>r.limit&&m!==void 0?Rl(m):null}}s(vi,"readRunPage");function Al(n){let{status:e,workflow:t,attention:r}=n;if(r===!0){if(e!==void 0||t!==void 0)throw new y("invalid_request","the attention filter does not combine with others yet",{fix:"Ask with attention alone, and choose among what comes back."});return[Xe.attention,[]]}return e!==void 0&&t!==void 0?[Xe.both,[e,t]]:e!==void 0?[Xe.status,[e]]:t!==void 0?[Xe.workflow,[t]]:[Xe.all,[]]}s(Al,"choose");var Dl=["100000000000000000","ffffffff-ffff-ffff-ffff-ffffffffffff"];function Rl(n){return`${p(n).text("created_micros")}.${p(n).text("run_id")}`}s(Rl,"cursorOf");function $l(n){let e=/^(\d{1,17})\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(n);if(e===null)throw new y("invalid_request","this cursor is not one of ours",{fix:"Pass nextCursor of the page before unchanged, or leave it out for the first page."});return[e[1],e[2]]}s($l,"parseCursor");async function qi(n,e){return(await n.run(Cl,[e.tenantId,e.runId])).map(r=>{let o=p(r);return{seq:o.number("seq"),cause:o.text("cause"),status:o.text("status"),outcome:o.textOrNull("outcome"),dueAt:o.date("due_at"),createdAt:o.date("created_at"),publishedAt:o.dateOrNull("published_at"),publications:o.number("publications"),claimedAt:o.dateOrNull("claimed_at"),claimedBy:o.textOrNull("claimed_by"),leaseUntil:o.dateOrNull("lease_until"),workerEndedAt:o.dateOrNull("worker_ended_at"),workerEnd:o.textOrNull("worker_end"),settledAt:o.dateOrNull("settled_at"),fencedAt:o.dateOrNull("fenced_at"),holdExpiresAt:o.dateOrNull("hold_expires_at")}})}s(qi,"readDeliveries");function Ci(n){return{tenantId:n.text("tenant_id"),runId:n.text("run_id"),idempotencyKey:n.textOrNull("idempotency_key"),workflow:{name:n.text("workflow_name"),version:n.number("workflow_version"),digest:n.text("workflow_digest")},queue:n.text("queue"),priority:n.number("priority"),agent:n.textOrNull("agent"),requestedBy:n.text("requested_by"),status:n.text("status"),enqueueSeq:n.number("enqueue_seq"),journalLength:n.number("journal_length"),errorCode:n.textOrNull("error_code"),attention:xi(n,"attention_reason","attention_at"),quarantine:xi(n,"quarantine_reason","quarantined_at"),pausedAt:n.dateOrNull("paused_at"),deadlineAt:n.dateOrNull("deadline_at"),createdAt:n.date("created_at"),startedAt:n.dateOrNull("started_at"),finishedAt:n.dateOrNull("finished_at")}}s(Ci,"runOf");function xi(n,e,t){let r=n.textOrNull(e),o=n.dateOrNull(t);return r===null||o===null?null:{reason:r,at:o}}s(xi,"flag");var Nl=g("runs.restart",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'continued', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.settled_at
), arms_closed as (
  update ghouls.arms a
  set closed_at = settled.settled_at, closing = 'restart'
  from settled
  where a.tenant_id = settled.tenant_id and a.run_id = settled.run_id and a.closed_at is null
  returning a.run_id
), consents_closed as (
  update ghouls.consents c
  set status = 'CANCELLED', closed_at = settled.settled_at, closed_by = 'the restart of its run'
  from settled
  where c.tenant_id = settled.tenant_id and c.run_id = settled.run_id and c.status = 'PENDING'
  returning c.run_id
), moved as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, generation = run.generation + 1, losses = 0, idle_yields = 0,
    epoch = run.epoch + 1, journal_start = run.journal_length, journal_bytes = 0, input_text = $7, input_digest = $8
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id and run.epoch = $9
    and (select count(*) from arms_closed) >= 0 and (select count(*) from consents_closed) >= 0
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.generation, run.queue, run.priority, run.journal_start, settled.seq, settled.settled_at
), checkpoint as (
  insert into ghouls.checkpoints (tenant_id, run_id, generation, seq, workflow_digest, journal_length, journal_digest, created_at)
  select moved.tenant_id, moved.run_id, moved.generation, moved.seq, $5, moved.journal_start, $6, moved.settled_at
  from moved
  returning tenant_id, run_id, generation
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select moved.tenant_id, moved.run_id, moved.enqueue_seq, 'continued', 'PENDING', moved.queue, moved.priority,
  checkpoint.generation, moved.settled_at, moved.settled_at + $10::double precision * interval '1 second', moved.settled_at
from moved
join checkpoint on checkpoint.tenant_id = moved.tenant_id and checkpoint.run_id = moved.run_id
returning seq, queue`);async function Ai(n,e,t,r){let[o]=await n.run(Nl,[e.tenantId,e.runId,e.seq,e.token,t.workflowDigest,t.journalDigest,t.inputText,t.inputDigest,t.epoch,r.publisherGraceSeconds]);return o===void 0?En(n,e,"continued"):Ve(o)}s(Ai,"restartIfClaimed");var Ll=g("deliveries.settle",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = $6, settled_at = ghouls.clock()
  from held, r
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
    and (($5 = 'DONE' and ${Je("r.status","DONE")}) or ($5 = 'FAILED' and ${Je("r.status","FAILED")}))
  returning t.tenant_id, t.run_id, t.seq, t.claimed_by, t.settled_at
), effect_item as (
  insert into ghouls.containment_items (tenant_id, run_id, kind, key, seq, token, worker, created_at, next_look_at)
  select i.tenant_id, i.run_id, 'effect', ${oe}, i.seq, i.token, settled.claimed_by, settled.settled_at, settled.settled_at
  from settled
  join ghouls.intents i on i.tenant_id = settled.tenant_id and i.run_id = settled.run_id and i.outcome is null
  returning run_id
), left_open as (
  select held.tenant_id, held.run_id, held.open_items + (select count(*) from effect_item)::integer as items
  from held
)
update ghouls.runs run
set status = case when left_open.items = 0 then $5 when $5 = 'DONE' then 'COMPLETING' else 'FAILING' end,
  finished_at = case when left_open.items = 0 then settled.settled_at end,
  open_items = left_open.items,
  output_text = $7, output_digest = $8, error_code = $9, error_text = $10, error_digest = $11
from settled
join left_open on left_open.tenant_id = settled.tenant_id and left_open.run_id = settled.run_id
where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
returning run.status`),Tl=g("deliveries.settle-contain",`
with ${R(O)}
update ghouls.deliveries t
set status = 'SETTLED', outcome = $5, settled_at = ghouls.clock()
from held
where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq and t.cause = 'contain'
returning t.run_id`),Ml=_("deliveries.state-of-claim",`
select run.status as run_status, d.status as delivery_status, d.outcome, d.token = $4 as mine
from ghouls.runs run
join ghouls.deliveries d on d.tenant_id = run.tenant_id and d.run_id = run.run_id and d.seq = $3
where run.tenant_id = $1 and run.run_id = $2`),jl=g("runs.quarantine",`
with ${R($)}, settled as (
  update ghouls.deliveries t
  set status = 'SETTLED', outcome = 'given_back', settled_at = ghouls.clock()
  from held
  where t.tenant_id = held.tenant_id and t.run_id = held.run_id and t.seq = held.seq
  returning t.tenant_id, t.run_id, t.seq, t.checkpoint_generation, t.settled_at
), queued as (
  update ghouls.runs run
  set status = 'QUEUED', enqueue_seq = run.enqueue_seq + 1, quarantine_reason = $5, quarantined_at = settled.settled_at
  from settled
  where run.tenant_id = settled.tenant_id and run.run_id = settled.run_id
  returning run.tenant_id, run.run_id, run.enqueue_seq, run.queue, run.priority
)
insert into ghouls.deliveries (tenant_id, run_id, seq, cause, status, queue, priority, checkpoint_generation, due_at,
  next_publication_at, created_at)
select queued.tenant_id, queued.run_id, queued.enqueue_seq, 'continued', 'PENDING', queued.queue, queued.priority,
  settled.checkpoint_generation, settled.settled_at, null, settled.settled_at
from queued join settled on settled.tenant_id = queued.tenant_id and settled.run_id = queued.run_id
returning run_id`),zl=g("runs.raise-attention",`
with r as materialized (
  select run.tenant_id, run.run_id from ghouls.runs run where run.tenant_id = $1 and run.run_id = $2 for update
)
update ghouls.runs run
set attention_reason = $3, attention_at = ghouls.clock()
from r
where run.tenant_id = r.tenant_id and run.run_id = r.run_id and run.attention_at is null
  and run.status not in (${I(Ke("run"))})
returning run.run_id`);async function Di(n,e,t){let r=t.status==="DONE"?"done":"failed",o=t.status==="DONE"?[t.outputText,t.outputDigest,null,null,null]:[null,null,t.errorCode,t.errorText,t.errorDigest],i=await n.run(Ll,[...$n(e),t.status,r,...o]),[a]=i;return a!==void 0?{settled:!0,runStatus:p(a).text("status")}:Qt(n,e,r)}s(Di,"settleDeliveryIfClaimed");async function Ri(n,e,t){return n.transaction("deliveries.settle-contain",async r=>{await C(r,[e]);let i=(await r.run(Tl,[...$n(e),t])).length===1||(await Qt(r,e,t)).settled;return{settled:i,ended:i?await M(r,e):null}})}s(Ri,"settleContainIfClaimed");async function $i(n,e,t){return(await n.run(jl,[...$n(e),t])).length===1?!0:(await Qt(n,e,"given_back")).settled}s($i,"quarantineRunIfClaimed");async function Oi(n,e,t){return(await n.run(zl,[e.tenantId,e.runId,t])).length===1}s(Oi,"raiseAttention");async function Qt(n,e,t){let[r]=await n.run(Ml,$n(e));if(r===void 0)return{settled:!1,deliveryStatus:null,runStatus:null};let o=p(r),i=o.text("run_status");return r.mine===!0&&o.textOrNull("outcome")===t?{settled:!0,runStatus:i}:{settled:!1,deliveryStatus:o.text("delivery_status"),runStatus:i}}s(Qt,"readClaim");function $n(n){return[n.tenantId,n.runId,n.seq,n.token]}s($n,"keyOf");var Ze=1e3,Fl=_("signals.by-key",`
select s.signal_id, s.request_digest
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and (s.idempotency_key = $3 or s.signal_id = $4::uuid)`),Ul=_("signals.buffered",`
select count(*)::integer as buffered
from ghouls.signals s
where s.tenant_id = $1 and s.run_id = $2 and s.consumed_at is null`),Wl=g("signals.keep",`
insert into ghouls.signals (tenant_id, run_id, signal_id, name, idempotency_key, request_digest, payload_text, payload_digest,
  sent_by, received_at)
select run.tenant_id, run.run_id, $3, $4, $5, $6, $7, $8, $9, ghouls.clock()
from ghouls.runs run
where run.tenant_id = $1 and run.run_id = $2
on conflict (tenant_id, run_id, idempotency_key) do nothing
returning signal_id`);async function Ni(n,e,t){return n.transaction("signals.keep",async r=>{let{tenantId:o,runId:i,signalId:a,idempotencyKey:d}=e,u=(await C(r,[e])).get(i);if(u===void 0)return null;let[l]=await r.run(Fl,[o,i,d,a]);if(l!==void 0){let h=p(l);return h.text("request_digest")!==e.requestDigest?{kind:"conflict"}:{kind:"kept",signalId:h.text("signal_id"),repeated:!0,resumption:null}}if(Be(u)||O.includes(u))return{kind:"ended",status:u};let[m]=await r.run(Ul,[o,i]);if(m!==void 0&&p(m).number("buffered")>=Ze)return{kind:"full"};await r.run(Wl,[o,i,a,e.name,d,e.requestDigest,e.payloadText,e.payloadDigest,e.sentBy]);let f=await _e(r,e,t.publisherGraceSeconds);return{kind:"kept",signalId:a,repeated:!1,resumption:f}})}s(Ni,"keepSignal");var Bl=g("workflows.record",`
insert into ghouls.workflows (name, version, digest, build, first_seen_at, last_seen_at)
select q.name, q.version, q.digest, $4, ghouls.clock(), ghouls.clock()
from unnest($1::text[], $2::integer[], $3::text[]) as q(name, version, digest)
order by q.name, q.version, q.digest
on conflict (name, version, digest) do update set build = excluded.build, last_seen_at = excluded.last_seen_at`),Hl=_("workflows.build-of",`
select w.build
from ghouls.workflows w
where w.name = $1 and w.digest = $2
order by w.last_seen_at desc
limit 1`);async function Pi(n,e,t){await n.run(Bl,[e.map(r=>r.name),e.map(r=>r.version),e.map(r=>r.digest),t])}s(Pi,"recordWorkflows");async function Li(n,e){let[t]=await n.run(Hl,[e.name,e.digest]);return t===void 0?null:p(t).text("build")}s(Li,"readBuildOf");function w(n,e){return((...t)=>e(n,...t))}s(w,"bind");function F(n,e,t){return(async(...r)=>(await e(),t(n,...r)))}s(F,"opening");function Vl(n,e,t,r){return Rt(e,t,r)}s(Vl,"admitIn");function Ti(n){let e=new kn(n),t=n.beforeOpening??(()=>Promise.resolve());return{schema:e.schema,runs:{admit:F(e,t,Rt),admitIn:F(e,t,Vl),byKey:w(e,qe),byId:w(e,pn),get:w(e,Si),page:w(e,vi),raiseAttention:w(e,Oi),quarantineIfClaimed:w(e,$i),adoptIfClaimed:w(e,Eo),clearAbsenceIfClaimed:w(e,bo),cancel:F(e,t,qo),clearQuarantine:F(e,t,wi),overdue:w(e,Mo),failOverdue:w(e,jo),restartIfClaimed:w(e,Ai),resume:F(e,t,jt),resumeDue:w(e,jt)},deliveries:{releaseIfHeld:F(e,t,Qr),claimIfDue:F(e,t,si),unclaimed:w(e,ai),settleIfClaimed:w(e,Di),duePublications:w(e,gi),markPublished:w(e,yi),markPublicationFailed:w(e,_i),settleContainIfClaimed:w(e,Ri),beatIfClaimed:w(e,vo),parkIfClaimed:w(e,pi),yieldIfClaimed:w(e,ko),giveBackIfClaimed:w(e,xo),lapsed:w(e,ti),settleLost:w(e,ri),expiredHolds:w(e,zo),expireHolds:w(e,Go),recordWorkerEnd:F(e,t,ui),ofRun:w(e,qi)},journal:{appendIfClaimed:w(e,ci),read:w(e,mi)},checkpoints:{read:w(e,Io)},intents:{openIfClaimed:w(e,Uo),closeIfClaimed:w(e,Wo),openOfRun:w(e,Ko),lastOfRun:w(e,Bo)},items:{ofRun:w(e,Ho),due:w(e,Jo),contain:w(e,Kt),containSooner:F(e,t,Kt),acknowledge:F(e,t,Lt),acknowledgeWorker:F(e,t,So)},arms:{openOfRun:w(e,Ye),retriesOfRun:w(e,Ao),runOf:w(e,$o),due:w(e,Oo)},consents:{get:w(e,qn),page:w(e,Po),decisions:w(e,Ft),decide:F(e,t,No),toLookUp:w(e,Lo),postponeLookUp:w(e,To)},signals:{keep:F(e,t,Ni)},evidence:{reject:w(e,Co)},workflows:{record:w(e,Pi),buildOf:w(e,Li)},keys:{byId:w(e,An),markUsed:w(e,Vo),page:w(e,Yo),create:w(e,Qo),revoke:w(e,Xo)},nextLook:w(e,fi),beforeOpening:t,doctor:s(()=>ho(e),"doctor"),schemaVersion:s(()=>Pt(e),"schemaVersion"),transaction:e.transaction.bind(e),close:s(()=>e.close(),"close")}}s(Ti,"openLedger");var Yt="ghouls_app";function Mi(n,e){return`
grant usage on schema ${n} to ${e};
grant select on ${n}.migrations to ${e};
grant select, insert, update on ${n}.workflows to ${e};
grant select, insert, update on ${n}.runs to ${e};
grant select, insert, update on ${n}.deliveries to ${e};
grant select, insert on ${n}.journal to ${e};
grant select, insert on ${n}.checkpoints to ${e};
grant select, insert, update on ${n}.containment_items to ${e};
grant select, insert, update on ${n}.intents to ${e};
grant select, insert, update on ${n}.waits to ${e};
grant select, insert, update on ${n}.arms to ${e};
grant select, insert, update on ${n}.consents to ${e};
grant select, insert on ${n}.consent_decisions to ${e};
grant select, insert, update on ${n}.signals to ${e};
grant select, insert on ${n}.evidence to ${e};
grant select, insert on ${n}.audit to ${e};
grant select, update (last_used_at) on ${n}.api_keys to ${e};
grant select on ${n}.doctor_open_deliveries to ${e};
grant select on ${n}.doctor_working_runs to ${e};
grant select on ${n}.doctor_terminal_runs to ${e};
grant select on ${n}.doctor_pending_deliveries to ${e};
grant select on ${n}.doctor_journals to ${e};
grant select on ${n}.doctor_open_items to ${e};
grant select on ${n}.doctor_endings to ${e};
grant select on ${n}.doctor_waits to ${e};
grant select on ${n}.doctor_ended_waits to ${e};
grant select on ${n}.doctor_lost_claims to ${e};
grant select on ${n}.doctor_quarantined_runs to ${e};
grant select on ${n}.doctor_runs_with_attention to ${e};
`}s(Mi,"grantsSql");function ji(n){return`
do $$ begin
  if not exists (select from pg_namespace where nspname = '${n}') then create schema ${n}; end if;
end $$;
create table if not exists ${n}.migrations (
  number integer primary key,
  name text not null,
  applied_at timestamptz not null default statement_timestamp()
);
`}s(ji,"prologueSql");function zi(n,e){return`${ye(n.sql,e)}
insert into ${e}.migrations (number, name) values (${n.number}, '${n.name}');
`}s(zi,"stepSql");function Gi(n={}){let{schema:e,role:t}=Ui(n);return["begin;",ji(e).trim(),...Ae.map(r=>`-- ${r.number} ${r.name}
${zi(r,e).trim()}`),Mi(e,t).trim(),"commit;",""].join(`

`)}s(Gi,"migrationSql");async function Fi(n){let{schema:e,role:t}=Ui(n),r=new Ce({...n,maxConnections:1,answerTimeoutMs:0,applicationName:"ghouls-migrate"}),o=r.patience();try{let i=await r.connect("the migration",o);try{return await Ql(i,e,t)}finally{i.release(!0)}}catch(i){throw Yl(i,t)}finally{o.end(),await r.close()}}s(Fi,"migrate");async function Ql(n,e,t){await n.query("begin"),await n.query({text:"select pg_advisory_xact_lock(hashtextextended($1, 0))",values:[`ghouls-migrate:${e}`]}),await n.query(ji(e));let o=await n.query(`select number from ${e}.migrations order by number`),i=Number(o.rows.at(-1)?.number??0),a=Ae.at(-1)?.number??0;if(i>a)throw new y("configuration_invalid",`the schema is at migration ${i}, this code knows ${a}`,{fix:"Run the newer version of ghouls."});let d=Ae.filter(l=>l.number>i);for(let l of d)await n.query(zi(l,e));await n.query(Mi(e,t));let u=await n.query("commit");if(u.command!=="COMMIT")throw new Error(`the migration's COMMIT answered ${u.command}`);return{applied:d.map(({number:l,name:m})=>({number:l,name:m})),version:a}}s(Ql,"applyMissing");function Ui(n){let e=n.schema??Se,t=n.applicationRole??Yt;return ve(e,"the schema name"),ve(t,"the application's role"),{schema:e,role:t}}s(Ui,"named");function Yl(n,e){let t=typeof n=="object"&&n!==null&&"code"in n?n.code:void 0;return t==="42501"?new y("configuration_invalid","this role may not change the schema",{fix:"Give the migrator's connection string: the application's role owns nothing and has no DDL.",cause:n}):t==="42704"?new y("configuration_invalid",`the application's role "${e}" does not exist`,{fix:`Create it (create role ${e} login), or name yours with --app-role.`,cause:n}):n}s(Yl,"readable");import Xt from"pg";var Xl={statement_timeout:"15s",lock_timeout:"5s",idle_in_transaction_session_timeout:"2s"};function Zt(n,e){let{schema:t,migrator:r,application:o}=n;for(let[a,d]of[["the schema name",t],["the migrator's role",r.name],["the application's role",o.name]])ve(d,a);let i=s(({name:a,password:d})=>[`do $$ begin if not exists (select from pg_roles where rolname = '${a}') then create role ${a} login; end if; end $$`,`do $$ begin if exists (select from pg_roles where rolname = '${a}' and (rolsuper or rolcreatedb or rolcreaterole)) then alter role ${a} nosuperuser nocreatedb nocreaterole; end if; end $$`,`alter role ${a} login password ${Xt.escapeLiteral(d)}`],"role");return[...i(r),...i(o),...Object.entries(Xl).map(([a,d])=>`alter role ${o.name} set ${a} = '${d}'`),`do $$ begin if not pg_has_role('${r.name}', 'usage') then grant ${r.name} to current_user; end if; end $$`,`create schema if not exists ${t} authorization ${r.name}`,`grant connect on database ${Xt.escapeIdentifier(e)} to ${r.name}, ${o.name}`]}s(Zt,"rolesSql");async function Wi(n,e){let t=new Xt.Client({connectionString:n});t.on("error",()=>{}),await t.connect();try{let r=(await t.query("select current_database() as name")).rows[0]?.name??"";for(let o of Zt(e,r))await t.query(o)}finally{await t.end()}}s(Wi,"createRoles");var ra={};tn(ra,{DEFAULT_EXECUTION_SETTINGS:()=>Qi,Publisher:()=>De,Registry:()=>Kn,blameHop:()=>Yi,createAdmission:()=>Vi,createAnnouncement:()=>Hi,createConsents:()=>Ts,createControl:()=>zs,createKeyAuthenticator:()=>Gs,createLowering:()=>Qs,createReads:()=>Fs,createSignals:()=>ta,isConsentStatus:()=>Ms,reconcile:()=>Zn,reconcileWhenDue:()=>ea,work:()=>Ls});function Bi(n,e){let t=[],r=!1,o=s(async()=>{for(r=!0;t.length>0;){let i=t.slice(0,n);t=t.slice(n);try{let a=await e(i.map(d=>d.item));i.forEach((d,u)=>d.resolve(a[u]))}catch(a){for(let d of i)d.reject(a)}}r=!1},"drain");return i=>new Promise((a,d)=>{t.push({item:i,resolve:a,reject:d}),r||(r=!0,queueMicrotask(()=>{o()}))})}s(Bi,"grouped");var Zl=100,De=class{static{s(this,"Publisher")}#e;#t;constructor(e){this.#e=e,this.#t=Bi(Zl,t=>this.#n(t))}publish(e){return this.#t(e)}async#n(e){let{queue:t,log:r,faults:o}=this.#e;try{let{confirmed:i,failed:a}=await t.publish(e);for(let{publication:u,reason:l}of a)r.warn("a delivery could not be published; the relay will",{runId:u.runId,reason:l});await o("admission.after-publish",`${i.length} confirmed`),await this.#r(i,a);let d=new Set(i.map(({runId:u,enqueueSeq:l})=>`${u}:${l}`));return e.map(({runId:u,enqueueSeq:l})=>d.has(`${u}:${l}`)?"published":"failed")}catch(i){return r.warn("publications failed; the relay repeats them",{count:e.length,error:String(i).slice(0,200)}),e.map(()=>"failed")}}async#r(e,t){let{ledger:r,log:o}=this.#e;try{await r.deliveries.markPublished(e),await r.deliveries.markPublicationFailed(t)}catch(i){o.warn("publications could not be marked",{count:e.length,error:i.name})}}};function Hi({ledger:n,registry:e,build:t}){let r;return()=>(r??=n.workflows.record(e.carried(),t).catch(o=>{throw r=void 0,o}),r)}s(Hi,"createAnnouncement");async function er(n){try{await n()}catch(e){throw!(e instanceof v)||e.kind!=="unknown"&&e.kind!=="busy"?e:new y("ledger_unavailable","nothing was admitted: this build could not say in the ledger which workflows it has",{fix:"Send the request again.",retryAfterSeconds:2,cause:e})}}s(er,"announceOrRefuse");async function X(n,e){let t=Promise.withResolvers(),r=setTimeout(()=>t.resolve(!1),Math.min(Math.max(0,e),2147483647));try{return await Promise.race([n.then(()=>!0),t.promise])}finally{clearTimeout(r)}}s(X,"endsWithin");async function he(n,e){if(await X(n,e))return n;throw new Error(`no answer within ${e} ms`)}s(he,"answerWithin");var ec=5,nc="1h";async function On(n,e,t){let{request:r}=t,o=Buffer.byteLength(t.inputText);if(o>ge)throw new y("too_large",`the input is ${o} bytes of JSON, the limit is ${ge}`,{fix:"Keep the material elsewhere and send a reference."});if(r.holdFor!==void 0&&r.held!==!0)throw new y("invalid_request","holdFor is for a run that is held",{issues:[{path:"/holdFor",message:"needs held: true"}],fix:"Add held: true, or leave holdFor out."});let i=JSON.parse(t.inputText),a=r.workflow===void 0?tc(n.route,{input:i,...r.agent===void 0?{}:{agent:r.agent}}):void 0,d=n.registry.choose(r.workflow??a.workflow,r.version);await ic(d,i);let u=n.ids.next(),l=await n.codec.encode(t.inputText,{tenantId:e.tenantId,runId:u,kind:"input"});return{tenantId:e.tenantId,runId:u,idempotencyKey:t.idempotencyKey??null,requestDigest:await en(n.codec,t.canonicalRequest),workflow:{name:d.definition.name,version:d.definition.version,digest:d.digest},queue:rc(n.queues,r.queue??a?.queue??d.definition.queue??kt),priority:oc(r.priority??a?.priority??ec),agent:r.agent??null,requestedBy:e.subject,requestedRoles:e.roles,inputText:l,inputDigest:E(l),deadlineMs:d.definition.deadlineMs??null,onWorkerLoss:d.definition.onWorkerLoss,held:r.held??!1,holdMs:T(r.holdFor??nc)}}s(On,"prepare");async function en(n,e){return n.digest?.(e)??E(e)}s(en,"requestDigest");function tc(n,e){let t;try{t=n?.(e)}catch{throw new y("invalid_request","the route of the configuration could not choose a workflow for this request",{fix:"Name a workflow in the request."})}if(t===void 0)throw new y("invalid_request","the request names no workflow and the route chose none",{issues:[{path:"/workflow",message:"is missing"}],fix:"Name a workflow, or let `route` in the configuration choose one."});return t}s(tc,"routeOf");function rc(n,e){if(!n.includes(e))throw new y("unknown_queue",`there is no queue "${e}"`,{fix:`Configured are: ${n.join(", ")}.`});return e}s(rc,"queueOf");function oc(n){if(!Number.isInteger(n)||n<0||n>9)throw new y("invalid_request",`a priority of ${n} is not taken`,{issues:[{path:"/priority",message:"must be a whole number from 0 to 9"}],fix:"Give a whole number from 0 to 9; 9 goes first."});return n}s(oc,"priorityOf");async function ic(n,e){let t=await sc(n,e);if(t.length!==0)throw new y("input_invalid",`the input does not fit workflow "${n.definition.name}"`,{issues:t,fix:"Send an input of the workflow's schema; GET /v1/workflows shows it."})}s(ic,"checkInput");async function sc(n,e){try{let t=await n.definition.input.safeParseAsync(e);return t.success?[]:t.error.issues.slice(0,50).map(r=>({path:["","input",...r.path.map(String)].join("/"),message:r.message.slice(0,500)}))}catch{return[{path:"/input",message:"the workflow's schema failed on this input"}]}}s(sc,"issuesOf");function Vi(n){let{ledger:e}=n,t=new De(n),r={lockTimeoutMs:n.lockTimeoutMs??2e3,publisherGraceSeconds:n.publisherGraceSeconds??15},o=s(async d=>{d.unpublished&&await X(t.publish(d),ac)},"publishIfUnpublished"),i=s(async(d,{idempotencyKey:u,canonicalRequest:l})=>{if(u===void 0)return;let[m]=await e.runs.byKey([{tenantId:d.tenantId,idempotencyKey:u}]);if(!(m===void 0||m.requestDigest!==await en(n.codec,l)))return Nn({run:m,created:!1})},"admittedBefore"),a=s(async d=>{await er(n.announce);let u=await e.runs.admit(d,r);await n.faults("admission.after-commit",`${u.size} created`);let l=await Ji(d,u,e.runs);return await Promise.all(l.flatMap(m=>"run"in m?[o(m.run)]:[])),l},"commit");return{admit:s(async(d,u)=>{let l;try{l=await On(n,d,u)}catch(f){let h=await i(d,u);if(h===void 0)throw f;return h}let[m]=await a([l]);if(m===void 0||"conflict"in m)throw nr(l.idempotencyKey);return Nn(m)},"admit"),admitBatch:s(async(d,u)=>{let l=await uc(u,f=>On(n,d,f));return{runs:(await a(l)).map((f,h)=>"run"in f?{outcome:"admitted",run:Nn(f)}:{outcome:"conflict",idempotencyKey:l[h]?.idempotencyKey??"",detail:nr(l[h]?.idempotencyKey??null).message})}},"admitBatch"),release:s(async(d,u)=>{let l={tenantId:d.tenantId,runId:u},m=P(u)&&await e.deliveries.releaseIfHeld(l,r.publisherGraceSeconds),[f]=P(u)?await e.runs.byId([l]):[];if(f===void 0)throw new y("not_found","there is no such run",{fix:"Check the run id."});await o(f);let h=f.status==="FAILING"||f.status==="FAILED"||f.status.startsWith("CANCEL");if(!m&&(h||f.held)){let k=h?`the run is ${f.status}`:"the hold has expired";throw new y("hold_ended",`${k}: there is nothing left to release`,{fix:"Admit a new run."})}return{runId:u,enqueueSeq:f.enqueueSeq,released:m}},"release"),admitIn:s(async(d,u,l)=>{let m=await On(n,u,l);await er(n.announce);let f=yn(d,e.schema),h=await _n(f,async()=>{let k=await e.runs.admitIn(f,[m],r),[b]=await Ji([m],k,{byKey:s(x=>qe(f,x),"byKey"),byId:s(()=>Promise.resolve([]),"byId")});return b});if(h===void 0||"conflict"in h)throw nr(m.idempotencyKey);return{admitted:Nn(h),tenantId:u.tenantId}},"admitIn"),publish:s(async({admitted:d,tenantId:u})=>{if(await e.beforeOpening(),d.held)return;let{runId:l,enqueueSeq:m,queue:f}=d;await t.publish({tenantId:u,runId:l,enqueueSeq:m,queue:f})},"publish")}}s(Vi,"createAdmission");var ac=2e3;async function Ji(n,e,t){let r=n.filter(u=>!e.has(u.runId)),o=r.flatMap(u=>u.idempotencyKey===null?[]:[{tenantId:u.tenantId,idempotencyKey:u.idempotencyKey}]),i=r.filter(u=>u.idempotencyKey===null),a=new Map((o.length>0?await t.byKey(o):[]).map(u=>[u.idempotencyKey,u])),d=new Map((i.length>0?await t.byId(i):[]).map(u=>[u.runId,u]));return n.map(u=>{if(e.has(u.runId))return{run:dc(u),created:!0};let l=u.idempotencyKey===null?d.get(u.runId):a.get(u.idempotencyKey);if(l===void 0)throw new y("outcome_unknown","the ledger neither wrote the run nor holds its key",{fix:"Send the request again under the same Idempotency-Key.",retryAfterSeconds:1});return l.requestDigest!==u.requestDigest?{conflict:!0}:{run:l,created:l.runId===u.runId}})}s(Ji,"settleKeys");function dc(n){let{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:i,queue:a,priority:d,held:u}=n;return{tenantId:e,runId:t,idempotencyKey:r,requestDigest:o,workflow:i,queue:a,priority:d,held:u,status:"QUEUED",enqueueSeq:1,unpublished:!u}}s(dc,"freshRun");function Nn({run:n,created:e}){let{runId:t,status:r,enqueueSeq:o,workflow:i,queue:a,priority:d,held:u}=n;return{runId:t,created:e,status:r,enqueueSeq:o,workflow:i,queue:a,priority:d,held:u}}s(Nn,"admittedView");function nr(n){return new y("idempotency_conflict",`the idempotency key "${n}" was used for another request`,{fix:"Use a new key for a new request, or send the same request again."})}s(nr,"conflict");async function uc(n,e){let t=[],r=[],o;for(let[i,a]of n.entries())try{t.push(await e(a))}catch(d){if(!(d instanceof y))throw d;o??=d;let u=d.issues??[{path:"",message:d.message}];r.push(...u.map(l=>({path:`/runs/${i}${l.path}`,message:l.message})))}if(o===void 0)return t;throw new y(o.code,`nothing was admitted: ${o.message}`,{issues:r.slice(0,50),...o.fix===void 0?{}:{fix:o.fix}})}s(uc,"prepareAll");var Qi={replayPatienceMs:1e3,settleReserveMs:2e3,overdueAfterMs:6e4,actsMarginSeconds:60,leaseMs:12e4,beatMs:3e4,maxLosses:3,maxContainDeliveries:3,deployOverlapMs:36e5,ownerDeadlineMs:1e4,publisherGraceSeconds:15};import{AsyncLocalStorage as lc}from"node:async_hooks";var tr=new lc;function rr(n,e){return tr.run(n,e)}s(rr,"standIn");function Pn(){return tr.getStore()}s(Pn,"whereAmI");function Yi(n){let e=tr.getStore();return e===void 0?!1:(e.hop.fail(n),!0)}s(Yi,"blameHop");function A(n,e,t){return{kind:"failed",failure:{code:n,name:"Refused",message:e,...t===void 0?{}:{step:t}}}}s(A,"refusal");function Ln(n){return n.kind==="yielded"||n.kind==="given_back"}s(Ln,"handsOver");function or(n){let e=cc(n);if(e===void 0)return{kind:"failed",failure:{code:"workflow_failed",...S(n)}};let{name:t,message:r}=S(n);return{kind:"failed",failure:{code:"step_failed",name:t,message:r,...e}}}s(or,"failureOf");function cc(n){try{if(!(n instanceof fe))return;let e=n.failure.stack;return{step:String(n.step),...typeof e=="string"?{stack:e}:{}}}catch{return}}s(cc,"stepFailureIn");function Xi(n,e){return Object.defineProperty(n,"constructor",{get:s(()=>{let t=mc();return t!==void 0&&e(t),Promise},"get")})}s(Xi,"guardAgainstRace");function mc(){let{stackTraceLimit:n}=Error;Error.stackTraceLimit=6;let{stack:e}=new Error;return Error.stackTraceLimit=n,typeof e=="string"?/at (Promise\.(?:race|any)) \(<anonymous>\)/.exec(e)?.[1]:void 0}s(mc,"racingNow");function ie(){return new Promise(n=>setImmediate(n))}s(ie,"comeToRest");function Z(){let{promise:n,resolve:e,reject:t}=Promise.withResolvers();return n.catch(()=>{}),{promise:n,resolve:e,reject:t}}s(Z,"deferred");var fc=6e4,Zi=100,es=new Set(["tries","backoff","timeout","effect","probe"]),ns=200;function ts(n,e,t,r){if(typeof n!="string"||n===""||n.length>ns||n.includes("\0")||!n.isWellFormed())return`a step's name is a text of 1 to ${ns} characters`;if(typeof e!="function")return`step "${n}" has no function`;let o=Object.keys(t??{}).find(i=>!es.has(i));if(o!==void 0)return`step "${n}": option "${o}" is not known in this version (known: ${[...es].join(", ")})`;try{return pc(n,t??{},r)}catch(i){if(!(i instanceof y))throw i;return`step "${n}": ${i.message}${i.fix===void 0?"":`. ${i.fix}`}`}}s(ts,"resolveStep");function pc(n,e,t){let r=e.tries??1;if(!Number.isInteger(r)||r<1||r>Zi)return`step "${n}": tries is a whole number from 1 to ${Zi}`;let o=e.timeout===void 0?Math.min(fc,t/2):T(e.timeout);return o<=0||o>t?`step "${n}": a timeout of ${e.timeout} does not fit the function's limit of ${Math.floor(t/1e3)} s`:e.effect!==void 0&&e.effect!=="once"?`step "${n}": effect can only be "once"`:e.probe!==void 0&&(e.effect!=="once"||typeof e.probe!="function")?`step "${n}": a probe is a function, and belongs to a step with effect: "once"`:{tries:r,timeoutMs:o,once:e.effect==="once",probe:e.probe,backoff:_t(e.backoff)}}s(pc,"resolved");var gc=new Set(["deciders","quorum","expires","onExpiry","detail","requesterMayDecide","source"]),yc=new Set(["schema","timeout"]),_c=/^(?:role|user|key):[\x21-\x7e]{1,200}$/,rs=200,Tn=100;function os(n,e,t){return ir("consent",n,e,gc,r=>{let{deciders:o,quorum:i=1,onExpiry:a="expire",requesterMayDecide:d=!1}=e??{},u=e?.source??null;if(!Array.isArray(o)||o.length===0||o.length>Tn)return`name 1 to ${Tn} deciders, such as deciders: ["role:legal"]`;let l=o.find(k=>typeof k!="string"||!_c.test(k));if(l!==void 0)return`"${String(l).slice(0,100)}" is no decider: write "role:<name>", "user:<name>" or "key:<id>"`;if(!Number.isInteger(i)||i<1||i>Tn)return`quorum is a whole number from 1 to ${Tn}`;let m=new Set(o);if(i>m.size&&o.every(k=>!k.startsWith("role:")))return`a quorum of ${i} cannot be reached by ${m.size} deciders`;if(!te.includes(a))return`onExpiry is one of ${te.join(", ")}`;if(u!==null&&!t.includes(u))return`source "${String(u).slice(0,100)}" is not among the decision sources of the configuration`;let f=hc(e?.detail),h={title:r,deciders:[...m].toSorted((k,b)=>k<b?-1:1),quorum:i,expiresMs:e?.expires===void 0?null:T(e.expires),onExpiry:a,requesterMayDecide:d===!0,detail:f,source:u};return{name:r,wait:{owner:"consent",dueAt:null,tries:null,consent:h}}})}s(os,"understandConsent");function hc(n){try{return H(n)}catch(e){throw e instanceof L?new y("configuration_invalid",`its detail cannot be kept: ${e.message}`,{fix:`Give JSON of at most ${ge} bytes.`}):e}}s(hc,"detailOf");function is(n,e,t){let r=n instanceof Date?wc(n):n;return ir("sleep",e?.name??r,e,new Set(["name"]),o=>{let i=n instanceof Date?new Date(n):new Date(t.getTime()+T(String(n)));return Number.isNaN(i.getTime())?"it is until no moment: the Date is invalid":{name:o,wait:{owner:"timer",dueAt:i,tries:null,receive:s(()=>{},"receive")}}})}s(is,"understandSleep");function wc(n){return Number.isNaN(n.getTime())?"invalid date":n.toISOString()}s(wc,"momentOf");function ss(n,e,t){return ir("signal",n,e,yc,r=>{let{schema:o,timeout:i}=e??{};if(o!==void 0&&typeof o.safeParse!="function")return"its schema is none of zod's";let a=i===void 0?null:new Date(t.getTime()+T(i));return{name:r,wait:{owner:"signal",dueAt:a,tries:null,receive:s(d=>kc(d,o),"receive")}}})}s(ss,"understandSignal");function kc(n,e){let{outcome:t,payload:r}=n;if(t!=="RECEIVED"||e===void 0)return n;try{let o=e.safeParse(r);return o.success?{...n,payload:o.data}:{...n,outcome:"INVALID",problem:o.error.message.slice(0,1500)}}catch(o){let i=`the schema threw: ${String(o).slice(0,500)}`;return{...n,outcome:"INVALID",problem:i}}}s(kc,"received");function ir(n,e,t,r,o){if(typeof e!="string"||e===""||e.length>rs||e.includes("\0")||!e.isWellFormed())return`the name of a ${n} is a text of 1 to ${rs} characters`;let i=`${n} "${e}"`;if(t!==void 0&&(typeof t!="object"||t===null))return`${i}: its options are an object`;let a=Object.keys(t??{}).find(d=>!r.has(d));if(a!==void 0)return`${i}: option "${a}" is not known in this version (known: ${[...r].join(", ")})`;try{let d=o(e);return typeof d=="string"?`${i}: ${d}`:d}catch(d){if(!(d instanceof y))throw d;return`${i}: ${d.message}${d.fix===void 0?"":`. ${d.fix}`}`}}s(ir,"understood");var Mn=class{static{s(this,"Asking")}#e;constructor(e){this.#e=e}step(e,t,r){return this.#n("step",e,()=>{let o=ts(e,t,r,this.#e.stepLimitMs);return typeof o=="string"?o:{name:e,step:o,run:t}})}consent(e,t){return this.#t("consent",()=>os(e,t,this.#e.sources))}sleep(e,t){return this.#t("sleep",()=>is(e,t,this.#e.now()))}signal(e,t){return this.#t("signal",()=>ss(e,t,this.#e.now()))}restart(e){let t=this.#r("restart","");return t!==void 0?t:(this.#e.decide({kind:"restarted",input:e}),Z().promise)}#t(e,t){let r=this.#n(e,e,t);return Xi(r,o=>{let i=`${o} over a durable wait: a replay has to find the same winner. Write ctx.first({ name: wait, \u2026 })`;this.#o(A("invalid_call",i))})}#n(e,t,r){let o=this.#r(e,String(t));if(o!==void 0)return o;if(this.#e.hasEnded())return Z().promise;let i=r();if(typeof i=="string")return this.#o(A("invalid_call",i));let a=this.#e.calls.next(this.#e.epoch,"",e,i.name);if(a===void 0)return this.#o(A("duplicate_call",`a call "${i.name}" is open already: give calls that run at the same time names of their own`));let d=this.#e.calls.open(a,"step"in i?{step:i.step,wait:void 0,start:s(()=>this.#e.start(d,i.run),"start")}:{step:void 0,wait:i.wait,start:s(()=>{},"start")});return this.#e.opened(d),d.result.promise}#r(e,t){let r=Pn()?.step;if(r===void 0)return;let i=`${e==="step"?`ctx.step("${t.slice(0,200)}")`:`ctx.${xc[e]}`} was called inside step "${r}": call it in the workflow itself`;return this.#e.refuse(A("invalid_call",i,r)),Promise.reject(new Error(i))}#o(e){return this.#e.refuse(e),Z().promise}},xc={consent:"consent",sleep:"sleep",signal:"waitForSignal",restart:"restart"};var jn=class{static{s(this,"Calls")}#e=new Map;#t=new Map;#n=new Map;next(e,t,r,o){let i=sr({epoch:e,scope:t,name:o});if(this.#t.has(i))return;let a=D({epoch:e,scope:t,kind:r,name:o,nth:0}),d=(this.#e.get(a)??0)+1;return this.#e.set(a,d),{epoch:e,scope:t,kind:r,name:o,nth:d}}open(e,t){let r={id:e,key:D(e),result:Z(),...t};return this.#n.set(r.key,r),this.#t.set(sr(e),r.key),r}find(e){return this.#n.get(D(e))}close(e){this.#n.delete(e.key),this.#t.delete(sr(e.id))}openCalls(){return[...this.#n.values()]}};function sr(n){return JSON.stringify([n.epoch,n.scope,n.name])}s(sr,"placeOf");var bc=100,Ec=2e3;async function we(n,e){for(let t=bc;;t=Math.min(Ec,t*2))try{return await n()}catch(r){if(!(r instanceof v)||r.kind==="defect"||r.kind==="schema"||!e.mayGoOn()||(e.onPause(r),await new Promise(o=>setTimeout(o,t*(.5+e.chance()/2))),!e.mayGoOn()))throw r}}s(we,"persist");var as=32*1048576,zn=class{static{s(this,"JournalWriter")}#e;#t;#n;#r;#o;constructor(e,t,r,o){this.#r=o,this.#e=e,this.#t=r,this.#o=e.journalBytes,this.#n=[...t]}entries(){return this.#n}async reject(e,t){try{let{tenantId:r,runId:o}=this.#e,i=H(t.outcome==="ok"?t.value:t.failure),a=i===void 0?null:await this.#t.codec.encode(i,{tenantId:r,runId:o,kind:"result"});await this.#t.ledger.evidence.reject(this.#e,{call:D(e),outcome:t.outcome,bodyText:a,bodyDigest:a===null?null:E(a)}),await this.#s(e,t);return}catch(r){return r}}async#s(e,t){if(t.outcome!=="ok"||t.closesIntent!==!0)return;let{epoch:r,scope:o,kind:i,name:a,nth:d}=e,u=`[${[r,o,i,a,d].map(f=>JSON.stringify(f)).join(", ")}]`,{token:l}=this.#e;await this.#t.ledger.items.acknowledge(this.#e,{kind:"effect",key:u,by:"worker",words:"it has happened, says the worker that made the call",token:l})}async write(e,t,r){try{return await this.#i(e,t,r)}catch(o){if(!(o instanceof L))return{written:!1,end:{kind:"unknown",error:o}};let i=`the result of step "${e.name}": ${o.message}`;return{written:!1,end:A(o.reason,i,e.name)}}}async#i(e,t,r){let{tenantId:o,runId:i}=this.#e,a=H(t.outcome==="ok"?t.value:t.failure),d=a===void 0?null:await this.#t.codec.encode(a,{tenantId:o,runId:i,kind:"result"}),u=d===null?0:Buffer.byteLength(d);if(this.#o+u>as)throw new L("too_large",`it would bring the run's journal above ${as} bytes`);let l={...e,outcome:t.outcome,resultText:d,resultDigest:d===null?null:E(d),resultBytes:u,tries:t.tries,tookMs:r,closesIntent:t.outcome==="ok"&&t.closesIntent===!0},m=await we(()=>this.#t.ledger.journal.appendIfClaimed(this.#e,l),this.#r);return m===null?{written:!1,end:{kind:"fenced"}}:(this.#o+=u,this.#n.push({...e,ordinal:m.ordinal,outcome:t.outcome,digest:d===null?null:E(d)}),await this.#t.faults("worker.after-journal",e.name),{written:!0,text:a,completedAt:m.completedAt})}};async function ds(n){let{options:e}=n;for(let t=n.triesBefore+1;;t+=1){let r=await Gn(n,t);if(r.outcome==="ok")return{outcome:"ok",value:r.value,tries:t};if(Ic(r.thrown)||t>=e.tries)return{outcome:"error",failure:r.failure,tries:t};if(n.hopSignal.aborted)return{outcome:"abandoned",tries:t};n.log.warn("a try of a step failed",{step:n.name,try:t,error:r.failure.name});let i=Ge(e.backoff,t+1,n.chance());if(i>be)return{outcome:"later",tries:t,delayMs:i};if(await ar(i,n.hopSignal),n.hopSignal.aborted)return{outcome:"abandoned",tries:t};let a=n.whyNotNow();if(a!==void 0)return{outcome:"stops",end:a}}}s(ds,"runStep");async function Gn(n,e){let{timeoutMs:t}=n.options,r=new AbortController,o=s(()=>r.abort(n.hopSignal.reason),"stop");n.hopSignal.addEventListener("abort",o,{once:!0}),n.hopSignal.aborted&&o();let i=!1,a=setTimeout(()=>{i=!0,r.abort(new DOMException(`step "${n.name}" did not end within ${t} ms`,"TimeoutError"))},t),d=setTimeout(n.onOverdue,t+n.overdueAfterMs);try{let{idempotencyKey:u,log:l}=n;return{outcome:"ok",value:await n.run({idempotencyKey:u,tryNumber:e,signal:r.signal,log:l})}}catch(u){let l=S(u);return{outcome:"error",thrown:u,failure:i?{name:"TimeoutError",message:`it did not end within ${t} ms (then: ${l.message.slice(0,500)})`}:l}}finally{clearTimeout(a),clearTimeout(d),n.hopSignal.removeEventListener("abort",o)}}s(Gn,"callOnce");function Ic(n){return n instanceof ee?!0:n instanceof Error&&n.name==="NonRetryableError"}s(Ic,"isNonRetryable");function ar(n,e){return new Promise(t=>{if(e.aborted)return t();let r=s(()=>{clearTimeout(o),e.removeEventListener("abort",r),t()},"end"),o=setTimeout(r,n);e.addEventListener("abort",r,{once:!0})})}s(ar,"pause");var V=s(n=>({outcome:"stops",end:n}),"stops"),Sc=1e3,vc=3e5;async function ls(n,e){let t=n.lastNumber,r=n.triesUsed;if(n.openIntent!==void 0){let o=await Cc(n,n.openIntent,e);if(o!=="cannot_happen")return o}if(r>=n.options.tries)return us(n,r,{name:"Error",message:"it did not happen"});for(;;){let o=n.whyNotNow();if(o!==void 0)return V(o);if(t+=1,r+=1,await e.faults("worker.before-intent",n.call.name),!await e.ledger.intents.openIfClaimed(n.claim,n.call,t))return V({kind:"fenced"});await e.faults("worker.after-intent",n.call.name);let i=await Gn(cs(n,n.call.name,n.run),r);if(i.outcome==="ok")return{outcome:"ok",value:i.value,tries:r,closesIntent:!0};if(!(i.thrown instanceof xe))return qc(n,r,i.failure);if(!await e.ledger.intents.closeIfClaimed(n.claim,n.call,t,"not_done"))return V({kind:"fenced"});if(r>=n.options.tries||n.hopSignal.aborted)return us(n,r,i.failure);let a=Ge(n.options.backoff,r+1,e.chance());if(a>be)return{outcome:"later",tries:r,delayMs:a};await ar(a,n.hopSignal)}}s(ls,"onceStep");function cs(n,e,t){let{options:r,hopSignal:o,log:i,onOverdue:a,overdueAfterMs:d}=n,u=Le(n.claim.firstRunId,n.call);return{name:e,run:t,options:r,hopSignal:o,log:i,onOverdue:a,overdueAfterMs:d,idempotencyKey:u}}s(cs,"callOf");function us(n,e,t){return n.log.warn("an effect has certainly not happened",{step:n.call.name,tries:e}),{outcome:"error",failure:t,tries:e}}s(us,"failedForGood");function qc(n,e,t){return n.probe===void 0?V(Fn(n,t.message)):(n.log.warn("the outcome of an effect is unknown; its probe is asked next",{step:n.call.name,try:e}),V({kind:"given_back",dueAt:new Date(n.ledgerNowMs()+Sc),why:`the outcome of "${n.call.name}" is unknown`}))}s(qc,"unknownOutcome");function Fn(n,e){let{name:t}=n.call;return A("effect_unknown",`effect "${t}" may or may not have happened: ${e.slice(0,500)}`,t)}s(Fn,"effectUnknown");async function Cc(n,e,t){if(!e.over){let i=e.overAt??new Date(n.ledgerNowMs()+vc);return V({kind:"given_back",dueAt:i,why:`an earlier worker may still carry out "${n.call.name}"`})}if(n.probe===void 0)return V(Fn(n,"its worker was lost, and it has no probe"));let r=await dr(n.probe,n);return typeof r=="string"?V(Fn(n,r)):r.outcome==="happened"?{outcome:"ok",value:r.result,tries:e.number,closesIntent:!0}:r.outcome==="unknown"?V(Fn(n,"its probe does not know")):await t.ledger.intents.closeIfClaimed(n.claim,n.call,e.number,"cannot_happen")?"cannot_happen":V({kind:"fenced"})}s(Cc,"askAbout");async function dr(n,e){let t=await Gn(cs(e,`probe of ${e.call.name}`,n),1);return t.outcome==="error"?`its probe failed: ${t.failure.message.slice(0,300)}`:Ac(t.value)?t.value:"its probe answered nothing that a probe answers"}s(dr,"probe");function Ac(n){return typeof n!="object"||n===null||!("outcome"in n)?!1:n.outcome==="happened"||n.outcome==="cannot_happen"||n.outcome==="unknown"}s(Ac,"isAnswer");function se(n,e,t){return n.claimedAt.getTime()+e.clock.monotonicMs()-t.claimedAtMs}s(se,"ledgerNowMs");function ur(n,e,t,r,o){if(t.deadlineAt!==null&&se(t,r,o)>=t.deadlineAt.getTime())return A("deadline",`the run's deadline has passed before step "${n}"`,n);if(!(e<=o.remainingMs()-r.settings.settleReserveMs))return{kind:"yielded",why:"time"}}s(ur,"whyNotNow");async function ms(n,e){let{call:t,claim:r,run:o,options:i,hopSignal:a,log:d,effects:u,invocation:l}=n,m={run:o,options:i,hopSignal:a,log:d,overdueAfterMs:e.settings.overdueAfterMs,onOverdue:s(()=>lr(n,e),"onOverdue"),whyNotNow:s(()=>ur(t.name,i.timeoutMs,r,e,l),"whyNotNow")};try{await e.faults("worker.before-step",t.name);let f=i.once?await ls({...m,call:t,claim:r,probe:i.probe,...u.of(t),ledgerNowMs:s(()=>se(r,e,l),"ledgerNowMs")},e):await ds({...m,name:t.name,triesBefore:n.triesBefore,idempotencyKey:Le(r.firstRunId,t),chance:e.chance});return await e.faults("worker.after-step",t.name),f}catch(f){return i.once?{outcome:"stops",end:{kind:"unknown",error:f}}:{outcome:"error",failure:S(f),tries:1}}}s(ms,"liveStep");function lr({call:n,claim:e,log:t},r){r.ledger.runs.raiseAttention(e,`step_overdue: ${n.name}`).catch(o=>{t.warn("attention could not be raised",{step:n.name,error:String(o).slice(0,200)})})}s(lr,"askForAPerson");async function ps(n,e){await ie();for(let t of n){if(fs(e))return;let r=await Dc(t,e);if(r===void 0){let o=e.openCalls().map(i=>on(i.id));return fs(e)?void 0:A("journal_mismatch",`journal entry ${t.ordinal} is ${on(t)}, but the code ${o.length===0?"does not ask for it":`asks for ${o.join(", ").slice(0,1e3)}`}: the workflow's code has changed or is not deterministic`)}e.resolve(r,t),await ie()}}s(ps,"replay");function fs(n){let e=n.end();return n.refused()||e!==void 0&&e.kind!=="returned"&&e.kind!=="failed"}s(fs,"stops");async function Dc(n,e){let t=e.nowMs();for(;;){let r=e.find(n);if(r!==void 0)return r;if(e.end()!==void 0||e.nowMs()-t>e.patienceMs)return;await ie()}}s(Dc,"askedFor");function ys(n){let{runId:e,agent:t,requestedBy:r,deadlineAt:o}=n.claim,i=new Pe(e,n.claim.epoch,"");return{runId:e,agent:t,requestedBy:r,deadline:o===null?void 0:new Date(o),abortSignal:n.abortSignal,log:$c(n),step:s((a,d,u)=>n.asking.step(a,d,u),"step"),consent:s((a,d)=>n.asking.consent(a,d),"consent"),sleep:s((a,d)=>n.asking.sleep(a,d),"sleep"),waitForSignal:s((a,d)=>n.asking.signal(a,d),"waitForSignal"),first:Rc,restart:s(a=>n.asking.restart(a),"restart"),now:s(()=>new Date(n.now()),"now"),random:s(()=>gs("random",()=>i.random()),"random"),uuid:s(()=>gs("uuid",()=>i.uuid()),"uuid")}}s(ys,"workflowContext");function Rc(n){let e=Object.entries(n);return e.length===0?Promise.reject(new ee("ctx.first({}) would wait for ever: give it named waits")):new Promise((t,r)=>{for(let[o,i]of e)i.then(a=>t({winner:o,value:a}),r)})}s(Rc,"first");function gs(n,e){let t=Pn()?.step;if(t===void 0)return e();throw new ee(`ctx.${n}() was called inside step "${t}": draw outside, and use the value inside`)}s(gs,"outsideOfSteps");function $c(n){let e=s(t=>(r,o)=>{n.isLive()&&n.log[t](r,o)},"only");return{debug:e("debug"),info:e("info"),warn:e("warn"),error:e("error")}}s($c,"whileLive");var Re=class{static{s(this,"Hop")}#e;#t;#n;#r;#o;#s;#i;#d;#c=new AbortController;#a=new jn;#f=[];#m=new Map;#g=new Set;#p;#k=!1;#y=0;#_=!0;#x=!1;#w=!1;#u;#h=Z();constructor(e,t,r,o,i){this.#e=e,this.#t=t,this.#o=r.journal,this.#s=r,this.#n=o,this.#r=i,this.#i=o.logFor(e),this.#p=e.admittedAt,this.#d=new zn(e,r.journal,o,{chance:o.chance,mayGoOn:s(()=>this.mayWrite()&&i.remainingMs()>o.settings.settleReserveMs/2,"mayGoOn"),onPause:s(a=>this.#i.warn("the ledger is out of reach; a result waits",{kind:a.kind}),"onPause")})}async run(e,t){this.#E(e),await this.#I();let r=this.#w||!this.#_?void 0:await t?.();r!==void 0&&this.#l(r),this.#k=!0;for(let i of this.#a.openCalls())i.start();let o=await this.#q();for(let i of this.#g)clearTimeout(i);return this.#c.abort(new DOMException("the hop has ended","AbortError")),o}async openCalls(e,t){this.#E(e),await this.#I();let r=this.#n.clock.monotonicMs(),o=s(a=>this.#a.openCalls().some(d=>d.key===a),"isOpen");for(;!t.every(o)&&this.#u===void 0&&!(this.#n.clock.monotonicMs()-r>this.#n.settings.replayPatienceMs);)await ie();let i=this.#a.openCalls();return this.#l({kind:"fenced"}),i}fence(){this.#l({kind:"fenced"})}fail(e){this.#l(or(e))}drain(){this.#l({kind:"yielded",why:"drain"})}mayWrite(){return this.#_}disagrees(){return this.#w}journal(){return this.#d.entries()}#E(e){let t=new Mn({epoch:this.#e.epoch,stepLimitMs:this.#r.limitMs-this.#n.settings.settleReserveMs,sources:Object.keys(this.#n.decisionSources),calls:this.#a,now:s(()=>this.#p,"now"),hasEnded:s(()=>this.#u!==void 0,"hasEnded"),decide:s(i=>this.#l(i),"decide"),refuse:s(i=>{this.#x=!0,this.#l(i)},"refuse"),opened:s(i=>{this.#k&&i.start(),this.#h.resolve()},"opened"),start:s((i,a)=>this.#D(i,a),"start")}),r=ys({claim:this.#e,log:this.#i,abortSignal:this.#c.signal,isLive:s(()=>this.#k||this.#o.length===0,"isLive"),now:s(()=>this.#p,"now"),asking:t});rr({hop:this,step:void 0},s(async()=>this.#t.run(r,e),"body")).then(i=>this.#l({kind:"returned",output:i}),i=>this.#l(or(i)))}#l(e){let t=this.#u,r=e.kind==="fenced"||e.kind==="unknown";(t===void 0||r||Ln(t)&&!Ln(e))&&(this.#u=e),r&&(this.#_=!1),e.kind!=="returned"&&!Ln(e)&&this.#c.abort(new DOMException("the run does not go on here","AbortError")),this.#h.resolve()}async#I(){let e=await ps(this.#o,{find:s(t=>this.#a.find(t),"find"),openCalls:s(()=>this.#a.openCalls(),"openCalls"),end:s(()=>this.#u,"end"),refused:s(()=>this.#x,"refused"),resolve:s((t,r)=>this.#S(t,r.outcome,r.text,r.tries,r.completedAt),"resolve"),patienceMs:this.#n.settings.replayPatienceMs,nowMs:s(()=>this.#n.clock.monotonicMs(),"nowMs")});e!==void 0&&(this.#w=!0,this.#u=e)}async#q(){for(;;){let e=this.#f.shift();if(e!==void 0)await this.#A(e);else{if(this.#u!==void 0&&this.#y===0)return this.#u;await this.#C()?this.#l({kind:"parked",standing:this.#a.openCalls()}):this.#f.length===0&&!(this.#u!==void 0&&this.#y===0)&&(await this.#h.promise,this.#h=Z())}}}async#C(){let e=s(()=>this.#u===void 0&&this.#y===0&&this.#f.length===0&&this.#a.openCalls().length>0&&this.#a.openCalls().every(({wait:t})=>t!==void 0),"still");return e()?(await ie(),e()):!1}async#A({call:e,end:t,tookMs:r}){if(t.outcome==="stops")return this.#l(t.end);if(t.outcome==="abandoned")return;if(t.outcome==="later")return this.#v(e,new Date(this.#b()+t.delayMs),t.tries);if(!this.#_){let i=await this.#d.reject(e.id,t),a=i===void 0?void 0:S(i).message.slice(0,200);this.#i.warn("a step ended after its claim was gone; its result is rejected evidence",{step:e.id.name,error:a});return}let o=await this.#d.write(e.id,t,r);if(!o.written)return o.end.kind==="fenced"&&await this.#d.reject(e.id,t),this.#l(o.end);t.outcome==="error"&&this.#u?.kind==="returned"&&this.#i.warn("a step failed that the workflow did not wait for",{step:e.id.name}),this.#S(e,t.outcome,o.text??null,t.tries,o.completedAt),await ie()}#S(e,t,r,o,i){this.#a.close(e),this.#p=i;let a=r===null?void 0:JSON.parse(r),d=e.wait?.receive;t==="ok"?e.result.resolve(d===void 0?a:d(a)):e.result.reject(new fe(e.id.name,o,a))}#D(e,t){if(this.#u!==void 0&&this.#u.kind!=="returned")return;let{clock:r}=this.#n,o=e.step;if(o===void 0)return;let i=this.#s.retries.of(e.id),a=this.#m.get(e.key)??i.triesBefore;if(!this.#m.has(e.key)&&i.dueAt!==null&&i.dueAt.getTime()>this.#b())return this.#v(e,i.dueAt,a);let d=ur(e.id.name,o.timeoutMs,this.#e,this.#n,this.#r);if(d!==void 0)return this.#l(d);this.#y+=1;let u=r.monotonicMs(),{claim:l,log:m,abort:f}={claim:this.#e,log:this.#i,abort:this.#c},h={call:e.id,claim:l,run:t,options:o,hopSignal:f.signal,log:m,effects:this.#s.effects,triesBefore:a,invocation:this.#r};rr({hop:this,step:e.id.name},()=>ms(h,this.#n)).then(b=>{this.#y-=1,this.#f.push({call:e,end:b,tookMs:r.monotonicMs()-u}),this.#h.resolve()})}#v(e,t,r){e.wait={owner:"timer",dueAt:t,tries:r},this.#m.set(e.key,r);let o=setTimeout(()=>{this.#g.delete(o),e.wait=void 0,e.start(),this.#h.resolve()},Math.min(Oc,Math.max(0,t.getTime()-this.#b())));this.#g.add(o),this.#h.resolve()}#b(){return se(this.#e,this.#n,this.#r)}},Oc=2**31-1;async function _s(n,e){if(n.seq===1)return{of:s(()=>({openIntent:void 0,lastNumber:0,triesUsed:0}),"of")};let[t,r]=await Promise.all([e.ledger.intents.openOfRun(n),e.ledger.intents.lastOfRun(n)]),o=new Map(t.map(a=>[D(a),a])),i=new Map(r.map(a=>[D(a),a]));return{of:s(a=>({openIntent:o.get(D(a)),lastNumber:i.get(D(a))?.number??0,triesUsed:i.get(D(a))?.tries??0}),"of")}}s(_s,"loadEffects");async function hs(n,e){let t=n.checkpointGeneration===null?[]:await e.ledger.arms.retriesOfRun(n,n.epoch),r=new Map(t.map(o=>[D(o.call),o]));return{of:s(o=>{let i=r.get(D(o));return{triesBefore:i?.tries??0,dueAt:i?.dueAt??null}},"of")}}s(hs,"loadRetries");function ae(n){return E(JSON.stringify(n.map(e=>[e.ordinal,D(e),e.outcome,e.digest])))}s(ae,"journalDigest");var j=class extends Error{static{s(this,"DisagreementError")}constructor(e){super(e),this.name="DisagreementError"}},ke=class extends Error{static{s(this,"CodecError")}constructor(e){super(e),this.name="CodecError"}};async function cr(n,e,t,r){if(e===null||E(n)!==e)throw new j(`${t} disagrees with its digest`);try{return await r(n)}catch(o){throw new ke(`${t}: ${S(o).message.slice(0,200)}`)}}s(cr,"verified");async function ws(n,e,t){let r=n.journalLength-n.journalStart;if(e.length!==r)throw new j(`the journal has ${e.length} entries, the run says ${r}`);let o={tenantId:n.tenantId,runId:n.runId,kind:"result"};return Promise.all(e.map(async(i,a)=>{let d=n.journalStart+a+1;if(i.ordinal!==d)throw new j(`journal entry ${d} is missing`);let{ordinal:u,epoch:l,scope:m,kind:f,name:h,nth:k,outcome:b,tries:x,completedAt:U,resultText:ce}=i,me=ce===null?Pc(i):await cr(ce,i.resultDigest,`journal entry ${u}`,Oe=>f==="step"?t.decode(Oe,o):Nc(Oe,n,t));return{ordinal:u,epoch:l,scope:m,kind:f,name:h,nth:k,outcome:b,text:me,tries:x,completedAt:U,digest:i.resultDigest}}))}s(ws,"loadJournal");async function Nc(n,{tenantId:e,runId:t},r){let o=JSON.parse(n),i={...o};return o.decisions!==void 0&&(i.decisions=await Promise.all(o.decisions.map(async a=>({...a,comment:a.comment===null?null:await r.decode(a.comment,{tenantId:e,runId:t,kind:"comment"})})))),o.payload!==void 0&&(i.payload=o.payload===null?null:JSON.parse(await r.decode(o.payload,{tenantId:e,runId:t,kind:"signal"}))),JSON.stringify(i)}s(Nc,"decodeWaitResult");function Pc(n){if(n.resultDigest!==null)throw new j(`the result of journal entry ${n.ordinal} is gone`);return null}s(Pc,"emptied");function ks(n,e,t){let r=`checkpoint ${n.checkpointGeneration}`;if(e===null)throw new j(`${r} is missing`);if(e.workflowDigest!==n.workflow.digest)throw new j(`${r} is of another workflow digest`);if(e.journalDigest!==ae(t.slice(0,e.journalLength-n.journalStart)))throw new j(`${r} disagrees with the journal`)}s(ks,"verifyCheckpoint");async function Un(n,e,t){let r=n.journalLength===n.journalStart?[]:await ws(n,await t.ledger.journal.read(n,n.journalStart),t.codec);n.checkpointGeneration!==null&&ks(n,await t.ledger.checkpoints.read(n,n.checkpointGeneration),r);let{tenantId:o,runId:i}=n,a=await cr(n.inputText,n.inputDigest,"the input",m=>t.codec.decode(m,{tenantId:o,runId:i,kind:"input"})),d=await bs(e,a);if("problem"in d)return A("input_invalid",`the input does not fit the workflow's schema: ${d.problem}`);let[u,l]=await Promise.all([_s(n,t),hs(n,t)]);return{input:d.value,journal:r,effects:u,retries:l}}s(Un,"loadMaterial");function Wn(n){return"journal"in n}s(Wn,"isMaterial");async function xs(n,e){let t=await bs(n,e);return"problem"in t?t.problem:void 0}s(xs,"inputProblem");async function bs(n,e){try{let t=await n.input.safeParseAsync(JSON.parse(e));return t.success?{value:t.data}:{problem:t.error.message.slice(0,1500)}}catch(t){return{problem:S(t).message}}}s(bs,"inputOf");var Kn=class{static{s(this,"Registry")}#e=new Map;#t=new Map;#n=new Map;constructor(e){for(let t of e){let{name:r,version:o}=t.definition,i=`${r}@${o}`;if(this.#e.has(i))throw new y("configuration_invalid",`workflow "${r}" version ${o} is registered twice`,{fix:"Give each registered workflow its own name or version."});this.#e.set(i,t);let a=this.#t.get(r);(a===void 0||a.definition.version<o)&&this.#t.set(r,t);for(let d of t.definition.accepts)this.#r(t,d)}}#r(e,t){let{name:r,version:o}=e.definition,i=`${r}@${t}`,a=this.#n.get(i);if(a!==void 0)throw new y("configuration_invalid",`versions ${a.definition.version} and ${o} of workflow "${r}" both accept ${t}`,{fix:"Let one of them carry those runs on."});this.#n.set(i,e)}all(){return[...this.#e.values()]}pins(){return this.all().map(mr)}carried(){let e=[...this.#n].map(([o,{definition:i}])=>({name:i.name,version:i.version,digest:o.slice(i.name.length+1)})),t=this.pins(),r=new Set(t.map(o=>`${o.name}@${o.version}@${o.digest}`));return[...t,...e.filter(o=>!r.has(`${o.name}@${o.version}@${o.digest}`))]}choose(e,t){let r=t===void 0?this.#t.get(e):this.#e.get(`${e}@${t}`);if(r===void 0){let o=t===void 0?`"${e}"`:`"${e}" version ${t}`;throw new y("unknown_workflow",`there is no workflow ${o}`,{fix:`Registered are: ${[...this.#e.keys()].join(", ")||"none"}.`})}return r}find(e){return this.#e.get(`${e.name}@${e.version}`)}carrier(e){let t=this.find(e);return t?.digest===e.digest?t:this.#n.get(`${e.name}@${e.digest}`)}};function mr({definition:n,digest:e}){return{name:n.name,version:n.version,digest:e}}s(mr,"pinOf");function Bn(n,e){let t=e.carrier(n);if(t!==void 0){let u=mr(t);return{workflow:t.definition,adopts:u.digest===n.digest?void 0:u}}let r=e.find(n),o=r===void 0?"this worker has none of that name and version":`this worker has ${r.digest}`,{name:i,version:a,digest:d}=n;return{absent:`the run is pinned to workflow "${i}" version ${a} with digest ${d}; ${o}`}}s(Bn,"pinnedWorkflow");var Lc=3e4;async function Es(n,e,t,r){let o=await t.ledger.workflows.buildOf(n.workflow),i=n.workflowAbsentSince,a=i===null?0:n.claimedAt.getTime()-i.getTime();if(o===null||a>=t.settings.deployOverlapMs){let m=o===null?"no build is known to have it":`build "${o}" is known to have it`,f=i===null?"it was never given back":`it was given back for ${Math.floor(a/1e3)} s, since ${i.toISOString()}`;return A("workflow_changed",`${e}; ${m}, and ${f}`)}let{name:d,version:u,digest:l}=n.workflow;return t.logFor(n).warn("this build lacks the run's workflow; its delivery goes back for one that has it",{workflow:d,version:u,digest:l,build:o,waitedSeconds:Math.floor(a/1e3)}),{kind:"given_back",dueAt:new Date(se(n,t,r)+Lc),why:"this build lacks its workflow",workflowAbsent:!0}}s(Es,"endWithoutWorkflow");async function Is(n,e,t,r){let o={workflowDigest:e.digest,journalLength:n.journalStart+t.length,journalDigest:ae(t)};try{if(await r.faults("worker.before-adopt",n.runId),!await r.ledger.runs.adoptIfClaimed(n,e,o))return{kind:"fenced"}}catch(i){return{kind:"unknown",error:i}}r.logFor(n).info("the run goes on with code that accepts its digest",{workflow:e.name,version:e.version,digest:e.digest,before:n.workflow.digest})}s(Is,"adopt");async function vs(n,e,t,r){let o=new AbortController,i=!1,a=s(()=>o.abort(new DOMException("the containment does not go on here","AbortError")),"stop");r.onHop({fence:s(()=>{i=!0,a()},"fence"),drain:a});try{let d=(await e.ledger.items.ofRun(n)).filter(Tc),u=Bn(n.workflow,e.registry);if("absent"in u)return e.logFor(n).warn("a contain delivery has come to a build without the run's workflow",{workflow:n.workflow.name,version:n.workflow.version,digest:n.workflow.digest}),await Hn(n,"refused",e);let l=await Un(n,u.workflow,e);if(!Wn(l))return await Hn(n,"refused",e);let m=new Re(n,u.workflow,l,e,t),f=d.map(b=>Ss(b.key)),h=new Map((await m.openCalls(l.input,f)).map(b=>[D(b.id),b])),k=await Promise.all(d.map(b=>Mc(n,b,h.get(Ss(b.key)),o.signal,e)));return i?{kind:"fenced"}:await Hn(n,k.every(Boolean)?"done":"failed",e)}catch(d){if(!(d instanceof j)&&!(d instanceof ke))throw d;return e.logFor(n).error("a contain delivery could not be begun",{error:d.message}),Hn(n,"refused",e)}}s(vs,"carryContain");function Ss(n){return JSON.stringify(JSON.parse(n))}s(Ss,"sameKey");function Tc(n){return n.kind==="effect"&&n.acknowledgedAt===null}s(Tc,"isOpenEffect");async function Mc(n,e,t,r,o){if(t?.step?.probe===void 0)return!1;let i=o.logFor(n),a=await dr(t.step.probe,{call:t.id,claim:n,options:t.step,log:i,hopSignal:r,overdueAfterMs:o.settings.overdueAfterMs,onOverdue:s(()=>lr({call:t.id,claim:n,log:i},o),"onOverdue")});if(typeof a=="string"||a.outcome==="unknown")return i.warn("an effect of an ending run is still unknown",{step:t.id.name,reason:typeof a=="string"?a:"unknown"}),!1;let d=a.outcome==="happened"?"it has happened":"it has not happened, and cannot any more";return await o.ledger.items.acknowledge(n,{kind:"effect",key:e.key,by:"probe",words:d,under:n})!==null}s(Mc,"settleEffect");async function Hn(n,e,t){let{settled:r,ended:o}=await t.ledger.deliveries.settleContainIfClaimed(n,e);return r?(o===null&&(e!=="done"&&await t.ledger.runs.raiseAttention(n,`containment ${e}: an effect is still unknown`),await t.ledger.items.containSooner(n,t.settings.maxContainDeliveries)),{kind:"contained",outcome:e}):{kind:"fenced"}}s(Hn,"finish");async function qs(n,e,t,r){await r.faults("worker.before-handover",n.runId);let o=await r.ledger.deliveries.yieldIfClaimed(n,{workflowDigest:n.workflow.digest,journalLength:n.journalStart+e.length,journalDigest:ae(e)},{idle:t.idle,publisherGraceSeconds:r.settings.publisherGraceSeconds});return await r.faults("worker.after-handover",n.runId),o===null?{kind:"fenced"}:(await Jn(n,o,r),{kind:"handed_over",why:t.why})}s(qs,"handOver");async function fr(n,e,t){await t.faults("worker.before-handover",n.runId);let r=await t.ledger.deliveries.giveBackIfClaimed(n,e.dueAt,e.workflowAbsent);return await t.faults("worker.after-handover",n.runId),r===null?{kind:"fenced"}:{kind:"handed_over",why:e.why}}s(fr,"giveBack");async function Jn(n,e,t){let{tenantId:r,runId:o}=n;await t.publisher.publish({tenantId:r,runId:o,enqueueSeq:e.enqueueSeq,queue:e.queue})}s(Jn,"publishNext");async function Cs(n,e,t,r){let o=await jc(n,t,r);await r.faults("worker.before-park",n.runId);let i=await r.ledger.deliveries.parkIfClaimed(n,{workflowDigest:n.workflow.digest,journalLength:n.journalStart+e.length,journalDigest:ae(e)},o,{publisherGraceSeconds:r.settings.publisherGraceSeconds});if(await r.faults("worker.after-park",n.runId),i===null)return{kind:"fenced"};switch(i.kind){case"mismatch":return{kind:"refused",end:A("journal_mismatch",`${i.what}: the code has changed or is not deterministic`)};case"continued":return await Jn(n,i.next,r),{kind:"handed_over",why:"what it waited for had happened"};case"parked":return await Gc(n,i.arms,r),{kind:"parked",status:i.status}}}s(Cs,"park");function jc(n,e,t){return Promise.all(e.flatMap(({id:r,wait:o})=>{if(o===void 0)return[];let i={call:r,armId:t.ids.next(),owner:o.owner,dueAt:o.dueAt,tries:o.tries},{consent:a}=o;return a===void 0?[Promise.resolve(i)]:[zc(n,a,t).then(d=>({...i,consent:d}))]}))}s(jc,"standingOf");async function zc(n,e,{codec:t,ids:r}){let{title:o,deciders:i,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,detail:m,source:f}=e,h=je({runId:n.runId,workflow:n.workflow,title:o,deciders:i,quorum:a,expiresMs:d,onExpiry:u,requesterMayDecide:l,detail:m===void 0?null:JSON.parse(m)}),{tenantId:k,runId:b}=n,x=await t.encode(h,{tenantId:k,runId:b,kind:"consent"});return{consentId:r.next(),title:o,requestText:x,storedDigest:E(x),requestDigest:t.digest===void 0?E(h):await t.digest(h),deciders:i,quorum:a,requesterMayDecide:l,onExpiry:u,expiresInSeconds:d===null?null:d/1e3,source:f}}s(zc,"frozen");async function Gc(n,e,t){let r=e.flatMap(({armId:a,dueInSeconds:d})=>{if(d===null||d>ze)return[];let u=Math.max(0,Math.ceil(d));return[{armId:a,tenantId:n.tenantId,queue:n.queue,delaySeconds:u}]});if(r.length===0)return;let o=await t.queue.wake(r),[i]=o;i!==void 0&&t.logFor(n).warn("timers could not be sent; the reconciler will wake the run",{count:o.length,reason:i})}s(Gc,"wakeInTime");async function As(n,e,t){let r=await Fc(n,e,t);if("end"in r)return{kind:"refused",end:r.end};await t.faults("worker.before-restart",n.runId);let o=await t.ledger.runs.restartIfClaimed(n,{inputText:r.stored,inputDigest:E(r.stored),workflowDigest:n.workflow.digest,journalDigest:ae([]),epoch:n.epoch},{publisherGraceSeconds:t.settings.publisherGraceSeconds});return await t.faults("worker.after-restart",n.runId),o===null?{kind:"fenced"}:(await Jn(n,o,t),{kind:"handed_over",why:"restart"})}s(As,"restart");async function Fc(n,e,t){let r=s((o,i)=>({end:A(o,`ctx.restart: the new input ${i}`)}),"refuse");try{let o=H(e)??"null",i=t.registry.find(n.workflow)?.definition,a=i===void 0?void 0:await xs(i,o);if(a!==void 0)return r("input_invalid",`does not fit the workflow's schema: ${a}`);let{tenantId:d,runId:u}=n;return{stored:await t.codec.encode(o,{tenantId:d,runId:u,kind:"input"})}}catch(o){if(o instanceof L)return r(o.reason,o.message);throw o}}s(Fc,"newInput");async function Ds(n,e,t,r){let{tenantId:o,runId:i}=n,a=t.kind==="returned"?await Wc(e,t.output):t.failure;if(Uc(a)){let u=await r.codec.encode(JSON.stringify(a),{tenantId:o,runId:i,kind:"error"});return{status:"FAILED",errorCode:a.code,errorText:u,errorDigest:E(u)}}if(a.text===void 0)return{status:"DONE",outputText:null,outputDigest:null};let d=await r.codec.encode(a.text,{tenantId:o,runId:i,kind:"output"});return{status:"DONE",outputText:d,outputDigest:E(d)}}s(Ds,"settlementOf");function Uc(n){return"code"in n}s(Uc,"isFailure");async function Wc(n,e){try{let t=await n?.output?.safeParseAsync(e);return t!==void 0&&!t.success?{code:"output_invalid",name:"Refused",message:`what the workflow returned does not fit its output schema: ${t.error.issues.slice(0,10).map(o=>`/${o.path.map(String).join("/")}: ${o.message}`).join("; ").slice(0,1500)}`}:{text:H(t===void 0?e:t.data)}}catch(t){return t instanceof L?{code:t.reason,name:"Refused",message:`what the workflow returned: ${t.message}`}:{code:"output_invalid",name:"Refused",message:`the output schema threw: ${S(t).message.slice(0,500)}`}}}s(Wc,"outputOf");async function Rs(n,e,t){await t.faults("worker.before-settle",n.runId);let r=await t.ledger.deliveries.settleIfClaimed(n,e);return await t.faults("worker.after-settle",n.runId),r}s(Rs,"settle");async function $s(n,e,t,r){try{await e.faults("worker.after-claim",n.runId);let o=n.cause==="contain"?await vs(n,e,t,r):await Kc(n,e,t,r);return o.kind==="fenced"&&await Jc(n,e),o}catch(o){return o instanceof j?Qc(n,o.message,e):o instanceof ke?Vc(n,o,e,t):{kind:"unknown",error:o}}}s($s,"carry");async function Kc(n,e,t,r){let o=Bn(n.workflow,e.registry);if("absent"in o){let l=await Es(n,o.absent,e,t);return de(n,l,e,t,void 0)}let i=await Un(n,o.workflow,e);if(!Wn(i))return de(n,i,e,t,void 0);if(n.deadlineAt!==null&&n.claimedAt>=n.deadlineAt){let l=`the run's deadline ${n.deadlineAt.toISOString()} had passed when a worker claimed it`;return de(n,A("deadline",l),e,t,void 0)}if(n.workflowAbsentSince!==null&&!await e.ledger.runs.clearAbsenceIfClaimed(n))return{kind:"fenced"};let a=new Re(n,o.workflow,i,e,t);r.onHop(a);let{adopts:d}=o;if(d===void 0)return de(n,await a.run(i.input),e,t,a);let u=await a.run(i.input,()=>Is(n,d,i.journal,e));if(a.disagrees()&&u.kind==="failed")throw new j(`workflow digest ${d.digest} accepts the run's, but ${u.failure.message}`);return de({...n,workflow:d},u,e,t,a)}s(Kc,"carryHop");async function de(n,e,t,r,o){switch(e.kind){case"fenced":case"unknown":return e;case"given_back":return we(()=>fr(n,e,t),Vn(n,t,r,o));case"yielded":{let i=o===void 0?0:o.journal().length-(n.journalLength-n.journalStart),a=e.why==="time"&&o!==void 0&&i===0;return!a||n.idleYields===0?we(()=>qs(n,o?.journal()??[],{why:e.why,idle:a},t),Vn(n,t,r,o)):de(n,A("no_progress",Bc),t,r,o)}case"parked":case"restarted":{let i=o?.journal()??[];if(e.kind==="restarted"&&i.length===0)return de(n,A("no_progress",Hc),t,r,o);let a=await we(()=>e.kind==="parked"?Cs(n,i,e.standing,t):As(n,e.input,t),Vn(n,t,r,o));return a.kind==="refused"?de(n,a.end,t,r,o):a}case"returned":case"failed":{let i=t.registry.find(n.workflow)?.definition,a=await Ds(n,i,e,t),d=await we(()=>Rs(n,a,t),Vn(n,t,r,o));return d.settled?(a.status==="FAILED"&&a.errorCode==="effect_unknown"&&await t.ledger.runs.raiseAttention(n,"effect_unknown: an effect may or may not have happened"),{kind:"settled",status:d.runStatus}):{kind:"fenced"}}}}s(de,"conclude");function Vn(n,e,t,r){return{chance:e.chance,mayGoOn:s(()=>r?.mayWrite()!==!1&&t.remainingMs()>e.settings.settleReserveMs/2,"mayGoOn"),onPause:s(o=>e.logFor(n).warn("the ledger is out of reach; the hop's end waits",{kind:o.kind}),"onPause")}}s(Vn,"persistenceOf");var Bc="two invocations in a row ended without a new journal entry: a step does not fit into one",Hc="ctx.restart without a single journaled call before it would go on for ever";async function Jc(n,e){try{await e.ledger.items.acknowledgeWorker(n)}catch(t){e.logFor(n).warn("a worker could not acknowledge its own end",{error:String(t).slice(0,200)})}}s(Jc,"acknowledge");async function Vc(n,e,t,r){t.logFor(n).error("a payload could not be decoded; the delivery goes back",{error:e.message});try{let o=new Date(se(n,t,r)+3e4);return await fr(n,{kind:"given_back",dueAt:o,why:"a payload could not be decoded"},t)}catch(o){return{kind:"unknown",error:o}}}s(Vc,"later");async function Qc(n,e,t){try{return await t.ledger.runs.quarantineIfClaimed(n,e)?{kind:"quarantined",reason:e}:{kind:"fenced"}}catch(r){return{kind:"unknown",error:r}}}s(Qc,"quarantine");var Yc=10;async function Os(n,e){let t=new Map;return await Promise.all(n.map(async({messageId:r,body:o})=>{let i=ct(o);i!==void 0&&t.set(r,await Xc(i,e))})),t}s(Os,"wakeUp");async function Xc(n,{ledger:e,publisher:t,settings:r,log:o,faults:i}){try{let a=await e.arms.runOf(n);if(a===null||!a.open)return{done:!0,reason:"timer_closed"};let{tenantId:d,runId:u,dueInSeconds:l}=a;if(l!==null&&l>0)return{done:!1,reason:"timer_early",retryInSeconds:Math.min(ze,Math.ceil(l))};let m=await e.runs.resume({tenantId:d,runId:u},r.publisherGraceSeconds);return await i("worker.after-wake",u),m===null?{done:!0,reason:"timer_kept"}:(o.info("a run was brought back by its timer",{runId:u,armId:n,lateSeconds:Math.round(-(l??0))}),await t.publish(m),{done:!0,reason:"timer_woke"})}catch(a){return o.warn("a timer's message could not be followed; it comes back",{armId:n,error:S(a).message.slice(0,200)}),{done:!1,reason:"timer_unknown",retryInSeconds:Yc}}}s(Xc,"wakeArm");async function $e({tenantId:n,runId:e},t,{codec:r,log:o}){try{let i=await r.encode(JSON.stringify(t),{tenantId:n,runId:e,kind:"error"});return{errorText:i,errorDigest:E(i)}}catch(i){o.error("the codec could not write why a run ends; the next pass tries",{runId:e,code:t.code,error:S(i).message.slice(0,200)});return}}s($e,"keptFailure");async function Qn(n,e={}){let{ledger:t,publisher:r,faults:o,log:i,settings:a}=n,{found:d,next:u}=await t.deliveries.lapsed(n.pageSize,e);if(d.length===0)return{counts:{lapsed:0,resumed:0,failing:0,failed:0},next:void 0};await o("reanimation.after-select",`${d.length} lapsed`);let l=(await Promise.all(d.map(k=>Zc(k,n)))).flat(),m=await t.deliveries.settleLost(l,a);await o("reanimation.after-judgement",`${m.length} judged`);let f=m.filter(k=>k.status==="QUEUED");for(let{runId:k,status:b,enqueueSeq:x}of m)i.warn("a worker was lost",{runId:k,status:b,enqueueSeq:x});return await Promise.all(f.map(k=>r.publish(k))),{counts:{lapsed:d.length,resumed:f.length,failing:m.filter(k=>k.status==="FAILING").length,failed:d.length-l.length},next:u}}s(Qn,"reanimate");async function Zc(n,e){if(n.onWorkerLoss==="resume"&&n.losses+1<e.settings.maxLosses)return[{...n,errorText:"",errorDigest:""}];let r={code:"ghoul_lost",name:"Lost",message:n.onWorkerLoss==="fail"?`the worker of delivery ${n.seq} was lost, and the workflow does not resume`:`the worker of delivery ${n.seq} was lost, and the run has used up its losses (${n.losses+1})`},o=await $e(n,r,e);return o===void 0?[]:[{...n,...o}]}s(Zc,"withFailure");var Yn=class{static{s(this,"Heartbeat")}#e;#t=new Set;#n;#r;#o;#s;#i;constructor(e,t){this.#e=e,this.#n=t,this.#r=t}start(e){for(let r of e)this.#t.add(r);if(this.#t.size===0)return;let t=Math.max(10,Math.min(this.#e.beatMs,this.#e.leaseMs/10));this.#o=setInterval(()=>this.#a(),t),this.#i=this.#m([...this.#t])}remove(e){this.#t.delete(e),this.#t.size===0&&this.#d()}async stop(){this.#d(),this.#t.clear(),await this.#s,await this.#i}#d(){clearInterval(this.#o),this.#o=void 0}#c(){return{monotonicMs:this.#e.clock.monotonicMs(),wallMs:this.#e.clock.wallMs()}}#a(){let e=this.#c(),{leaseMs:t,beatMs:r}=this.#e;if(Ns(this.#n,e)>t*.9){this.#g("its own lease could not be extended in time");return}this.#s!==void 0||Ns(this.#r,e)<r||(this.#r=e,this.#s=this.#f(e).finally(()=>{this.#s=void 0}))}async#f(e){let{ledger:t,faults:r,leaseMs:o,log:i}=this.#e,a=[...this.#t];try{await r("worker.before-beat",`${a.length} claims`);let d=await t.deliveries.beatIfClaimed(a.map(m=>m.claim),o/1e3);this.#n=e;let u=a.filter(m=>d.has(`${m.claim.runId}:${m.claim.seq}`));for(let m of a)u.includes(m)||this.#p(m,"the ledger has given it to nobody or to another");let l=this.#i;this.#i=Promise.resolve(l).then(()=>this.#m(u))}catch(d){i.warn("a heartbeat failed",{claims:a.length,error:String(d).slice(0,200)})}}async#m(e){let{queue:t,queueName:r,leaseMs:o,log:i}=this.#e,a=e.filter(d=>this.#t.has(d)).flatMap(d=>d.receiptHandles);if(a.length!==0)try{let d=await t.changeVisibilities(r,a,Math.ceil(o/1e3));d.length>0&&i.warn("the visibility of messages could not be extended",{messages:d.length})}catch(d){i.warn("the visibility of messages could not be extended",{error:String(d).slice(0,200)})}}#g(e){for(let t of this.#t)this.#p(t,e)}#p(e,t){this.#t.delete(e)&&(this.#e.log.warn("a claim is fenced",{runId:e.claim.runId,enqueueSeq:e.claim.seq,why:t}),e.fence(t),this.#t.size===0&&this.#d())}};function Ns(n,e){return Math.max(e.monotonicMs-n.monotonicMs,e.wallMs-n.wallMs)}s(Ns,"since");async function Ls(n,e,t){let r=Os(n,e),o=new Map;for(let d of n){let u=dn(d.body);if(u===void 0)continue;let l=o.get(Q(u));l===void 0?o.set(Q(u),{...u,receiptHandles:[d.receiptHandle]}):l.receiptHandles.push(d.receiptHandle)}let[i,a]=await Promise.all([em(o,e,t),r]);return Promise.all(n.map(async d=>{let u=a.get(d.messageId);if(u!==void 0)return u.retryInSeconds!==void 0&&await Ps(d,u.retryInSeconds,e,t),{messageId:d.messageId,done:u.done,reason:u.reason};let l=dn(d.body);if(l===void 0)return e.log.error("a message is no delivery; it stays until the dead-letter queue takes it",{messageId:d.messageId,bytes:Buffer.byteLength(d.body)}),{messageId:d.messageId,done:!1,reason:"poison"};let m=i.get(Q(l))??{done:!1,reason:"unknown_outcome"};return m.retryInSeconds!==void 0&&await Ps(d,m.retryInSeconds,e,t),{messageId:d.messageId,done:m.done,reason:m.reason}}))}s(Ls,"work");async function em(n,e,t){let r=[...n.values()];if(r.length===0)return new Map;if(e.draining.aborted)return new Map(r.map(u=>[Q(u),{done:!1,reason:"draining",retryInSeconds:1}]));let o=new Map,i={monotonicMs:e.clock.monotonicMs(),wallMs:e.clock.wallMs()},a;try{a=await om(r,e,t)}catch(u){e.log.error("a batch could not be claimed; its messages go back",{count:r.length,error:Xn(u)});let l={done:!1,reason:"unclaimed",retryInSeconds:nm};return new Map(r.map(m=>[Q(m),l]))}for(let[u,l]of await tm(a,n,i,e,t)){let m=im(u,l,e);m!==void 0&&o.set(Q({runId:u.runId,enqueueSeq:u.seq}),m)}let d=r.filter(u=>!o.has(Q(u)));for(let[u,l]of await sm(d,e))o.set(u,l);return o}s(em,"carryAll");var nm=10;async function tm(n,e,t,r,o){let{limitMs:i,remainingMs:a}=o,{leaseMs:d,beatMs:u}=r.settings,l=new Yn({...r,leaseMs:d,beatMs:u,queueName:o.queue},t),m=n.map(x=>rm(x,e.get(Q({runId:x.runId,enqueueSeq:x.seq}))));l.start(m.map(x=>x.beating));let f=s(()=>m.forEach(x=>x.drain()),"drain");r.draining.addEventListener("abort",f,{once:!0}),r.draining.aborted&&f();let h=[],k=Promise.all(m.map(async x=>{let U={limitMs:i,remainingMs:a,claimedAtMs:t.monotonicMs};h.push([x.claim,await $s(x.claim,r,U,{onHop:x.onHop})]),l.remove(x.beating)})),b=await X(k,a()-r.settings.settleReserveMs/4);return r.draining.removeEventListener("abort",f),await l.stop(),b||r.exit(`${n.length-h.length} steps are in flight at the end of the invocation`),h}s(tm,"carryBatch");function rm(n,e){let t,r,o=s(a=>{r=r==="fence"?r:a,t?.[a]()},"say"),i={claim:n,receiptHandles:e?.receiptHandles??[],fence:s(()=>o("fence"),"fence")};return{claim:n,beating:i,drain:s(()=>o("drain"),"drain"),onHop:s(a=>{t=a,r!==void 0&&a[r]()},"onHop")}}s(rm,"carriedRun");function om(n,e,t){let r=Math.max(1,t.remainingMs()/1e3);return e.ledger.deliveries.claimIfDue(n.map(o=>({...o,token:e.ids.next()})),{worker:e.worker,leaseSeconds:e.settings.leaseMs/1e3,actsForSeconds:t.endsByForce?r+e.settings.actsMarginSeconds:null})}s(om,"claim");function im(n,e,t){let r=t.logFor(n);switch(e.kind){case"settled":return r.info("run settled",{status:e.status,workflow:n.workflow.name}),{done:!0,reason:e.status};case"handed_over":return r.info("the run goes on in another hop",{why:e.why}),{done:!0,reason:"handed_over"};case"parked":return r.info("the run waits",{status:e.status}),{done:!0,reason:e.status};case"contained":return r.info("a contain delivery has ended",{outcome:e.outcome}),{done:!0,reason:`contain_${e.outcome}`};case"quarantined":return r.error("run quarantined",{reason:e.reason}),{done:!0,reason:"quarantined"};case"fenced":r.warn("the claim was taken away; nothing more was written");return;case"unknown":return r.error("the hop's outcome is unknown; the claim stays as it is",{error:Xn(e.error)}),{done:!1,reason:"unknown_outcome"}}}s(im,"verdictOf");async function sm(n,e){if(n.length===0)return[];try{let t=await e.ledger.deliveries.unclaimed(n),r=[...t].filter(([,o])=>o.deliveryStatus==="CLAIMED"&&(o.leaseEndsInSeconds??1)<=0);return r.length>0&&(await Qn({...e,pageSize:r.length},{runIds:r.map(([o])=>o.slice(0,o.indexOf(":")))}),t=await e.ledger.deliveries.unclaimed(n)),n.map(o=>{let i=It(t.get(Q(o))),{runId:a,enqueueSeq:d}=o;return e.log.info("a delivery was skipped",{runId:a,enqueueSeq:d,reason:i.reason}),[Q(o),i.deleteMessage?{done:!0,reason:i.reason}:{done:!1,reason:i.reason,retryInSeconds:i.retryInSeconds}]})}catch(t){return e.log.error("skipped deliveries could not be read; their messages go back",{error:Xn(t)}),[]}}s(sm,"explain");async function Ps(n,e,t,r){try{await t.queue.changeVisibility(r.queue,n.receiptHandle,e)}catch(o){t.log.warn("a message's visibility could not be changed",{messageId:n.messageId,error:Xn(o)})}}s(Ps,"putBack");function Q(n){return`${n.runId}:${n.enqueueSeq}`}s(Q,"keyOf");function Xn(n){let{name:e,message:t}=S(n);return`${e}: ${t}`.slice(0,300)}s(Xn,"nameOf");var am=2e3;function Ts({ledger:n,codec:e,publisher:t,faults:r}){let o=s(async i=>{let[a,d]=await Promise.all([lm(i,e),n.consents.decisions(i)]);return mm(i,a,await cm(i,d,e))},"viewOf");return{get:s(async(i,a)=>{if(!P(a))return;let d=await n.consents.get({tenantId:i,consentId:a});return d===null?void 0:o(d)},"get"),list:s(async(i,a,d)=>{let{consents:u,next:l}=await n.consents.page(i,a,{limit:d.limit,...d.cursor===void 0?{}:{after:pm(d.cursor)}});return{consents:await Promise.all(u.map(o)),nextCursor:l===void 0?null:fm(l)}},"list"),decide:s(async(i,a,d)=>{let u=P(a)?await dm({ledger:n,codec:e},i,a,d):null;if(u===null)throw gm();await r("consents.after-commit",a);let{judgement:l,consent:m,resumption:f}=u;return f!==null&&await X(t.publish(f),am),um(l,m),{consentId:a,runId:m.runId,status:m.status,repeated:l.kind==="repeated",resumed:f!==null}},"decide")}}s(Ts,"createConsents");async function dm({ledger:n,codec:e},t,r,{verdict:o,digest:i,comment:a}){let{tenantId:d,subject:u,roles:l}=t,m=await n.consents.get({tenantId:d,consentId:r});if(m===null)return null;let f=a===void 0?null:await e.encode(a,{tenantId:d,runId:m.runId,kind:"comment"});return n.consents.decide({tenantId:d,consentId:r},{subject:u,roles:l,verdict:o,digest:i,commentText:f,commentDigest:f===null?null:E(f)},{publisherGraceSeconds:15})}s(dm,"decide");function um(n,e){switch(n.kind){case"counts":case"repeated":return;case"not_a_decider":throw new y("not_a_decider","this consent is for others to decide",{fix:`It is decided by ${e.deciders.join(", ")}.`});case"requester":throw new y("not_a_decider","whoever asked for the run may not decide its consent",{fix:"Let another decider decide, or set requesterMayDecide in the workflow."});case"changed":throw new y("consent_changed","the decision names another request than the one that is open",{fix:`Show the consent again; its digest is ${e.requestDigest}.`});case"contradicts":throw new y("consent_closed",`you have said "${n.verdict}" before, and a word stands`,{fix:"Cancel the run, or let the other deciders decide."});case"expired":throw new y("consent_closed",`the consent's time is over: it is ${e.status}`,{fix:"Ask for the run again."});case"closed":throw new y("consent_closed",`the consent is ${n.status} already, by ${n.by}`,{fix:"GET /v1/consents/<id> has all decisions."})}}s(um,"refuseWhatDidNotCount");async function lm(n,e){let{tenantId:t,runId:r,requestText:o,storedDigest:i}=n;if(E(o)!==i)throw new y("integrity_fault",`the request of consent ${n.consentId} disagrees with its digest`);let a=await e.decode(o,{tenantId:t,runId:r,kind:"consent"});return JSON.parse(a)}s(lm,"requestOf");async function cm({tenantId:n,runId:e},t,r){return Promise.all(t.map(async({by:o,verdict:i,at:a,commentText:d})=>({by:o,verdict:i,at:a.toISOString(),comment:d===null?null:await r.decode(d,{tenantId:n,runId:e,kind:"comment"})})))}s(cm,"decodedDecisions");function mm(n,e,t){return{consentId:n.consentId,runId:n.runId,workflow:n.workflow,title:n.title,status:n.status,digest:n.requestDigest,detail:e.detail,deciders:[...n.deciders],quorum:n.quorum,requestedBy:n.requestedBy,requesterMayDecide:n.requesterMayDecide,onExpiry:n.onExpiry,source:n.source,createdAt:n.createdAt.toISOString(),expiresAt:n.expiresAt?.toISOString()??null,closedAt:n.closedAt?.toISOString()??null,closedBy:n.closedBy,decisions:t}}s(mm,"consentView");function Ms(n){return N("consent").includes(n)}s(Ms,"isConsentStatus");function fm({micros:n,consentId:e}){return Buffer.from(`${n} ${e}`).toString("base64url")}s(fm,"cursorOf");function pm(n){let[e="",t=""]=Buffer.from(n,"base64url").toString().split(" ");if(!/^\d{1,18}$/.test(e)||!P(t))throw new y("invalid_request","the cursor is none of ours",{fix:"Take nextCursor of the page before, or none for the first page."});return{micros:e,consentId:t}}s(pm,"positionOf");function gm(){return new y("not_found","there is no such consent",{fix:"GET /v1/consents lists those that this token may see."})}s(gm,"absent");function pr(n){return n.kind==="worker"?`worker-${n.key}`:`${n.kind}-${E(n.key).slice(0,12)}`}s(pr,"itemId");function js(n){return{id:pr(n),kind:n.kind,subject:n.kind==="worker"?n.worker:ym(n.key),enqueueSeq:n.seq,overAt:n.overAt?.toISOString()??null,createdAt:n.createdAt.toISOString(),acknowledgedAt:n.acknowledgedAt?.toISOString()??null,acknowledgedBy:n.acknowledgedBy,acknowledgement:n.acknowledgement}}s(js,"itemView");function ym(n){let[,,,e]=JSON.parse(n);return e}s(ym,"stepOf");function zs({ledger:n,publisher:e,settings:t}){return{cancel:s(async(r,o,i)=>{if(!P(o))throw ue();let a={tenantId:r.tenantId,runId:o},d=await n.runs.cancel(a,{actor:r.subject,reason:i},t.actsMarginSeconds);if(d===null)throw ue();return{runId:o,cancelled:d.cancelled,status:d.status}},"cancel"),clear:s(async(r,o,i)=>{if(!P(o))throw ue();let a=await n.runs.clearQuarantine({tenantId:r.tenantId,runId:o},{actor:r.subject,reason:i},15);if(a===null)throw ue();return a.resumption!==null&&await e.publish(a.resumption),{runId:o,cleared:a.cleared,status:a.status}},"clear"),resolve:s(async(r,o,i,a)=>{if(!P(o))throw ue();let d={tenantId:r.tenantId,runId:o},u=(await n.items.ofRun(d)).find(k=>k.acknowledgedAt===null&&pr(k)===i);if(u===void 0)throw ue();let{kind:l,key:m}=u,f=await n.items.acknowledge(d,{kind:l,key:m,by:"operator",words:a},{actor:r.subject,reason:a});if(f===null)throw ue();let h=f.ended??(await n.runs.get(d))?.status;if(h===void 0)throw ue();return{runId:o,item:i,openItems:f.openItems,status:h}},"resolve")}}s(zs,"createControl");function ue(){return new y("not_found","there is no such run, or no such open item of it",{fix:"Check the ids: `ghouls show <run id>` lists the items of a run."})}s(ue,"absent");var _m="0".repeat(64);function Gs({ledger:n,log:e}){return async t=>{let r=ot(t);if(r===void 0)return;let o=await n.keys.byId(r.keyId),i=Ne(r.digest,o?.digest??_m);if(o===null||!i||o.expired||o.revokedAt!==null)return;o.useIsDue&&await hm(o,n,e);let{tenantId:a,subject:d,roles:u,permissions:l}=o;return{tenantId:a,subject:d,roles:u,permissions:l.filter(mt)}}}s(Gs,"createKeyAuthenticator");async function hm(n,e,t){try{await e.keys.markUsed(n)}catch(r){t.warn("the use of a key could not be recorded",{keyId:n.keyId,name:S(r).name})}}s(hm,"markUsed");function Fs(n){let{ledger:e,codec:t}=n;return{getRun:s(async(r,o)=>{if(!P(o))return;let i=await e.runs.get({tenantId:r,runId:o});if(i===null)return;let a={tenantId:r,runId:o},[d,u]=await Promise.all([e.items.ofRun(a),e.arms.openOfRun(a)]);return wm(i,d,u,t)},"getRun"),listRuns:s(async(r,o,i)=>{let{runs:a,nextCursor:d}=await e.runs.page(r,o,i);return{runs:a.map(Us),nextCursor:d}},"listRuns"),getTimeline:s(async(r,o)=>{if(!P(o))return;let i={tenantId:r,runId:o},a=await e.runs.get(i);if(a===null)return;let[d,u]=await Promise.all([e.deliveries.ofRun(i),e.journal.read(i)]);return{runId:o,status:a.status,entries:km(a,d,u)}},"getTimeline")}}s(Fs,"createReads");var nn=s(n=>n?.toISOString()??null,"iso");function Us(n){let e=s(t=>t===null?null:{reason:t.reason,at:t.at.toISOString()},"flag");return{runId:n.runId,workflow:n.workflow,status:n.status,queue:n.queue,priority:n.priority,agent:n.agent,idempotencyKey:n.idempotencyKey,requestedBy:n.requestedBy,enqueueSeq:n.enqueueSeq,steps:n.journalLength,errorCode:n.errorCode,attention:e(n.attention),quarantine:e(n.quarantine),pausedAt:nn(n.pausedAt),deadlineAt:nn(n.deadlineAt),createdAt:n.createdAt.toISOString(),startedAt:nn(n.startedAt),finishedAt:nn(n.finishedAt)}}s(Us,"summaryOf");async function wm(n,e,t,r){let{tenantId:o,runId:i}=n,a=s(async(d,u)=>d===null?null:JSON.parse(await r.decode(d,{tenantId:o,runId:i,kind:u})),"read");return{...Us(n),waits:t.map(({call:{kind:d,name:u},dueAt:l,consentId:m})=>({kind:d,name:u,dueAt:nn(l),consentId:m})),input:await a(n.inputText,"input"),output:await a(n.outputText,"output"),error:await a(n.errorText,"error"),containment:e.map(js)}}s(wm,"viewOf");function km(n,e,t){let r=[{kind:"admitted",at:n.createdAt.toISOString()}];for(let i of e)r.push(...bm(i));for(let i of t)r.push({kind:"step",at:i.completedAt.toISOString(),enqueueSeq:i.seq,ordinal:i.ordinal,call:i.kind,name:i.name,nth:i.nth,outcome:i.outcome,tries:i.tries,startedAt:i.startedAt.toISOString()});n.finishedAt!==null&&r.push({kind:"finished",at:n.finishedAt.toISOString(),status:n.status,errorCode:n.errorCode});let o=s(i=>xm.indexOf(i.kind),"rank");return r.toSorted((i,a)=>i.at===a.at?o(i)-o(a):i.at<a.at?-1:1)}s(km,"timelineOf");var xm=["admitted","delivery","published","claimed","step","worker_ended","fenced","settled","finished"];function bm(n){let{seq:e,cause:t,status:r,publications:o}=n,i=[{kind:"delivery",at:n.createdAt.toISOString(),enqueueSeq:e,cause:t,status:r,dueAt:n.dueAt.toISOString()}];n.publishedAt!==null&&i.push({kind:"published",at:n.publishedAt.toISOString(),enqueueSeq:e,publications:o});let a=n.claimedBy??"unknown";if(n.claimedAt!==null&&i.push({kind:"claimed",at:n.claimedAt.toISOString(),enqueueSeq:e,worker:a}),n.workerEndedAt!==null){let d=n.workerEnd??"unknown";i.push({kind:"worker_ended",at:n.workerEndedAt.toISOString(),enqueueSeq:e,worker:a,how:d})}return n.settledAt!==null&&n.outcome!==null&&i.push({kind:"settled",at:n.settledAt.toISOString(),enqueueSeq:e,outcome:n.outcome}),n.fencedAt!==null&&i.push({kind:"fenced",at:n.fencedAt.toISOString(),enqueueSeq:e}),i}s(bm,"ofDelivery");async function Ws(n,e){let{ledger:t,faults:r,log:o}=n,{found:i,next:a}=await t.items.due(n.pageSize,e);i.length>0&&await r("containment.after-select",`${i.length} runs`);let[d,u]=[0,0];for(let l of i)try{let m=await t.items.contain(l,n.settings.maxContainDeliveries);await r("containment.after-look",l.runId),m.ended!==null?(d+=1,o.info("a run has ended, and nothing of it can act any more",{runId:l.runId,status:m.ended})):m.needsWord&&await t.runs.raiseAttention(l,"containment: something of the run waits for a word")}catch(m){u+=1,o.warn("a run's items could not be looked at",{runId:l.runId,error:String(m).slice(0,200)})}return{counts:{due:i.length,ended:d,failed:u},next:a}}s(Ws,"contain");function Em(n){return Math.min(3600,30*2**Math.min(n,10))}s(Em,"nextLookSeconds");async function Ks(n,e){let{ledger:t,faults:r,log:o}=n,{found:i,next:a}=await t.consents.toLookUp(n.pageSize,e);i.length>0&&await r("consents.after-select",`${i.length} due`);let d=await Promise.all(i.map(async l=>{try{return await t.consents.postponeLookUp(l,Em(l.looks)),await Im(l,n)}catch(m){return o.warn("a decision source could not be asked",{runId:l.runId,source:l.source,error:S(m).message.slice(0,200)}),"failed"}})),u=s(l=>d.filter(m=>m===l).length,"count");return{counts:{due:i.length,decided:u("decided"),failed:u("failed")},next:a}}s(Ks,"lookUpConsents");async function Im(n,e){let{ledger:t,publisher:r,codec:o,faults:i,log:a,settings:d}=e,u=n.source??"",l=Object.hasOwn(e.decisionSources,u)?e.decisionSources[u]:void 0;if(l===void 0)throw new Error(`the configuration has no decision source "${u}"`);let{tenantId:m,runId:f,consentId:h,title:k,requestText:b,requestDigest:x}=n,U=JSON.parse(await o.decode(b,{tenantId:m,runId:f,kind:"consent"})),ce=new AbortController,me=await he(l.lookUp({tenantId:m,runId:f,consentId:h,title:k,digest:x,detail:U.detail},ce.signal),d.ownerDeadlineMs).finally(()=>ce.abort());if(await i("consents.after-look",h),me.outcome==="pending")return"pending";let Oe=me.comment??null,et=Oe===null?null:await o.encode(Oe,{tenantId:m,runId:f,kind:"comment"}),nt=await t.consents.decide({tenantId:m,consentId:h},{subject:`source:${u}/${me.by}`.slice(0,300),roles:[],verdict:me.outcome,digest:x,commentText:et,commentDigest:et===null?null:E(et)},{publisherGraceSeconds:d.publisherGraceSeconds,asSource:!0});return nt===null?"pending":(a.info("a decision source has decided a consent",{runId:f,source:u,outcome:me.outcome}),nt.resumption!==null&&await r.publish(nt.resumption),"decided")}s(Im,"lookUp");async function Bs(n,e){let{ledger:t,faults:r,log:o,settings:i}=n,{found:a,next:d}=await t.runs.overdue(n.pageSize,e);a.length>0&&await r("deadlines.after-select",`${a.length} overdue`);let[u,l]=[0,0];for(let m of a){let f={code:"deadline",name:"Deadline",message:`the run's deadline ${m.deadlineAt.toISOString()} has passed while it was ${m.status}`};try{let h=await $e(m,f,n);if(h===void 0){l+=1;continue}let k=await t.runs.failOverdue({...m,...h},i.actsMarginSeconds);if(await r("deadlines.after-failure",m.runId),k===null)continue;u+=1,o.warn("a run's deadline has passed",{runId:m.runId,status:k})}catch(h){l+=1,o.warn("an overdue run could not be ended",{runId:m.runId,error:String(h).slice(0,200)})}}return{counts:{overdue:a.length,ended:u,failed:l},next:d}}s(Bs,"endOverdue");async function Hs(n,e){let{ledger:t,faults:r,log:o}=n,{found:i,next:a}=await t.deliveries.expiredHolds(n.pageSize,e);if(i.length===0)return{counts:{expired:0,ended:0,failed:0},next:void 0};await r("holds.after-select",`${i.length} expired`);let d=(await Promise.all(i.map(m=>Sm(m,n)))).flat(),u=await t.deliveries.expireHolds(d);await r("holds.after-expiry",`${u.length} ended`);for(let{runId:m,status:f}of u)o.info("a held run was not released in time",{runId:m,status:f});let l=i.length-d.length;return{counts:{expired:i.length,ended:u.length,failed:l},next:a}}s(Hs,"expireHolds");async function Sm(n,e){let t={code:"hold_expired",name:"Expired",message:`the run was held until ${n.expiredAt.toISOString()}, and nobody released it`},r=await $e(n,t,e);return r===void 0?[]:[{...n,...r}]}s(Sm,"withFailure");async function Js(n){let{ledger:e,queue:t,faults:r,log:o}=n,i=await e.deliveries.duePublications(n.pageSize);if(i.length===0)return{due:0,published:0,failed:0};await r("relay.after-select",`${i.length} due`);let{confirmed:a,failed:d}=await t.publish(i);await r("relay.after-publish",`${a.length} confirmed`),await e.deliveries.markPublished(a),await e.deliveries.markPublicationFailed(d);for(let{publication:l,reason:m}of d)o.warn("the relay could not publish a delivery",{runId:l.runId,reason:m});let u=new Set(a.map(l=>`${l.runId}:${l.enqueueSeq}`));for(let l of i)l.publications+1<yt||!u.has(`${l.runId}:${l.enqueueSeq}`)||await e.runs.raiseAttention(l,"unclaimed: published again and again, and claimed by no worker");return{due:i.length,published:a.length,failed:d.length}}s(Js,"relay");async function Vs(n,e){let{ledger:t,publisher:r,faults:o,log:i,settings:a}=n,{found:d,next:u}=await t.arms.due(n.pageSize,e);d.length>0&&await o("timers.after-select",`${d.length} due`);let[l,m]=[0,0];for(let{tenantId:f,runId:h,armId:k,lateSeconds:b}of d)try{let x=await t.runs.resumeDue({tenantId:f,runId:h},a.publisherGraceSeconds);if(await o("timers.after-resume",h),x===null)continue;l+=1,i.info("a run was brought back by its timer",{runId:h,armId:k,lateSeconds:Math.round(b)}),await r.publish(x)}catch(x){m+=1,i.warn("a run could not be brought back",{runId:h,error:String(x).slice(0,200)})}return{counts:{due:d.length,resumed:l,failed:m},next:u}}s(Vs,"wakeDue");async function le(n,e,t,r){let o=e.remainingMs()/2,i={...t},a=0,d;try{for(;e.remainingMs()>Math.max(e.pageBudgetMs,i.failed>0?o:0);){let{counts:u,next:l}=await r(d);if(a+=1,i=vm(i,u),l===void 0)break;d=l}return{...i,pages:a}}catch(u){return e.log.error("a pass was interrupted",{pass:n,error:String(u).slice(0,300)}),{...i,pages:a,error:u instanceof Error?u.name:"error"}}}s(le,"pass");function vm(n,e){let t=Object.keys(n);return Object.fromEntries(t.map(r=>[r,n[r]+e[r]]))}s(vm,"sum");async function Zn(n){return{reanimation:await le("reanimation",n,{lapsed:0,resumed:0,failing:0,failed:0},e=>Qn(n,{after:e})),holds:await le("holds",n,{expired:0,ended:0,failed:0},e=>Hs(n,e)),deadlines:await le("deadlines",n,{overdue:0,ended:0,failed:0},e=>Bs(n,e)),timers:await le("timers",n,{due:0,resumed:0,failed:0},e=>Vs(n,e)),consents:await le("consents",n,{due:0,decided:0,failed:0},e=>Ks(n,e)),containment:await le("containment",n,{due:0,ended:0,failed:0},e=>Ws(n,e)),relay:await le("relay",n,{due:0,published:0,failed:0},async()=>{let e=await Js(n);return{counts:e,next:e.published>0&&e.due>=n.pageSize?!0:void 0}})}}s(Zn,"reconcile");var qm=3e4;function Qs(n){let{hint:e,clock:t,log:r,patienceMs:o=1e3}=n,i,a,d=s(()=>{if(i===void 0)return!1;let l=t.wallMs()-i.wallMs;return l>=0&&Math.max(l,t.monotonicMs()-i.monotonicMs)<qm},"remembered"),u=s(async()=>{let l={monotonicMs:t.monotonicMs(),wallMs:t.wallMs()};try{await he(e.lower(l.wallMs,l.wallMs),o),i=l}catch(m){r.warn("the reconciler's hint could not be lowered; its hourly look stands in for it",{error:String(m).slice(0,200)})}finally{a=void 0}},"lower");return()=>d()?Promise.resolve():a??=u()}s(Qs,"createLowering");function Ys(n,e){return n===void 0||n.dueAtMs<=e||Zs(n,e)?{connect:!0}:n.dueAtMs>e+36e5?{connect:!0}:{connect:!1,untilMs:n.dueAtMs}}s(Ys,"wakeOf");function Xs(n,e,t){if(n!==void 0&&Zs(n,e))return;let r=t.atMs+36e5;if(t.dueInSeconds===null)return r;if(!(t.dueInSeconds<=120))return Math.min(r,t.atMs+Math.floor(t.dueInSeconds*1e3))}s(Xs,"raisedTo");function Zs({openedAtMs:n},e){return n!==void 0&&e-n<12e4}s(Zs,"mayBeCommitting");async function ea(n){let{clock:e,hint:t,log:r,hintPatienceMs:o=1500}=n,i=e.wallMs(),a;try{a={state:await he(t.read(),o)}}catch(l){r.warn("the hint could not be read: the ledger is looked at",{error:String(l).slice(0,200)})}let d=Ys(a?.state,i);if(!d.connect)return{skipped:!0,until:new Date(d.untilMs).toISOString()};let u=await Zn(n);return t.keeps&&a!==void 0&&Am(u)&&await Cm(n,a.state,i),u}s(ea,"reconcileWhenDue");async function Cm({ledger:n,hint:e,clock:t,log:r,hintPatienceMs:o=1500},i,a){try{let d=t.wallMs(),u=Xs(i,a,{atMs:d,dueInSeconds:await n.nextLook()});if(u===void 0)return;await he(e.raise(i?.version,d,u),o)}catch(d){r.warn("the hint could not be raised",{error:String(d).slice(0,200)})}}s(Cm,"raise");function Am(n){return Object.values(n).every(e=>e.error===void 0&&e.pages>0&&(e.failed??0)===0)}s(Am,"isWhole");var Dm=2e3;function ta({ledger:n,codec:e,ids:t,publisher:r,faults:o}){return{send:s(async(i,a,d)=>{if(!P(a))throw na();let{tenantId:u,subject:l}=i,{name:m,payloadText:f,idempotencyKey:h}=d,k=f===void 0?null:await e.encode(f,{tenantId:u,runId:a,kind:"signal"}),b=await n.signals.keep({tenantId:u,runId:a,signalId:t.next(),name:m,idempotencyKey:h??null,requestDigest:await en(e,`${JSON.stringify(m)} ${f??""}`),payloadText:k,payloadDigest:k===null?null:E(k),sentBy:l},{publisherGraceSeconds:15});if(b===null)throw na();switch(await o("signals.after-commit",a),b.kind){case"kept":return b.resumption!==null&&await X(r.publish(b.resumption),Dm),{runId:a,signalId:b.signalId,repeated:b.repeated,resumed:b.resumption!==null};case"conflict":throw new y("idempotency_conflict","the idempotency key was used for another signal",{fix:"Use a new key for a new signal, or send the same one again."});case"full":throw new y("too_many_signals",`${Ze} signals of the run wait to be taken already`,{fix:"Send it again once the run has taken some.",retryAfterSeconds:60});case"ended":throw new y("run_ended",`the run is ${b.status}: nothing takes a signal any more`,{fix:"Admit a new run."})}},"send")}}s(ta,"createSignals");function na(){return new y("not_found","there is no such run",{fix:"Check the run id."})}s(na,"absent");export{Wr as core,ra as engine,Ki as ledger};
