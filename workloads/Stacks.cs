// Prints what TraceEvent's TraceLog makes of a .nettrace file, as lines of fields separated by tabs:
//
//   PROVIDER  ID  COUNT  STACKS  FRAMES  SUM     for every kind of event, sorted: how many, how many of them with a stack,
//                                                how many frames in all, and a sum over everything in them
//   took      MILLISECONDS                       how long the conversion took
//
// SUM (hexadecimal) adds up, over all events of the kind, the FNV-1a hash of thread id, payload and addresses leaf first.

using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;

static class Stacks
{
    sealed class Kind
    {
        public long Count;
        public long WithStack;
        public long Frames;
        public ulong Sum;
    }

    static int Main(string[] args)
    {
        if (args.Length != 2)
        {
            Console.Error.WriteLine("usage: Stacks FILE.nettrace SCRATCH.etlx");
            return 64;
        }
        DateTime began = DateTime.UtcNow;
        string converted = TraceLog.CreateFromEventPipeDataFile(args[0], args[1]);
        var took = (long)(DateTime.UtcNow - began).TotalMilliseconds;
        var kinds = new SortedDictionary<string, Kind>(StringComparer.Ordinal);
        using (var log = new TraceLog(converted))
        {
            foreach (TraceEvent data in log.Events)
            {
                Add(kinds, data);
            }
        }
        var output = new StringBuilder();
        foreach (KeyValuePair<string, Kind> kind in kinds)
        {
            output.Append(kind.Key).Append('\t').Append(kind.Value.Count).Append('\t').Append(kind.Value.WithStack)
                .Append('\t').Append(kind.Value.Frames).Append('\t').Append(kind.Value.Sum.ToString("x")).Append('\n');
        }
        output.Append("took\t").Append(took).Append('\n');
        using (Stream stream = Console.OpenStandardOutput())
        {
            byte[] bytes = Encoding.UTF8.GetBytes(output.ToString());
            stream.Write(bytes, 0, bytes.Length);
        }
        return 0;
    }

    static void Add(SortedDictionary<string, Kind> kinds, TraceEvent data)
    {
        string name = data.ProviderName + "\t" + (int)data.ID;
        Kind kind;
        if (!kinds.TryGetValue(name, out kind))
        {
            kind = new Kind();
            kinds.Add(name, kind);
        }
        kind.Count++;
        ulong hash = Hash(14695981039346656037UL, (ulong)(uint)data.ThreadID);
        foreach (byte value in data.EventData())
        {
            hash = (hash ^ value) * 1099511628211UL;
        }
        TraceCallStack stack = data.CallStack();
        kind.WithStack += stack == null ? 0 : 1;
        for (; stack != null; stack = stack.Caller)
        {
            kind.Frames++;
            hash = Hash(hash, (ulong)stack.CodeAddress.Address);
        }
        kind.Sum += hash;
    }

    static ulong Hash(ulong hash, ulong number)
    {
        for (int shift = 0; shift < 64; shift += 8)
        {
            hash = (hash ^ ((number >> shift) & 0xff)) * 1099511628211UL;
        }
        return hash;
    }
}
